"""Opens files of spheres with other programs' readers and compares what they find with what was written.

usage: read.py FOLDER

FOLDER holds expected.json and the files state.ENDING; tests/formats/readers.rs writes them. Prints a line for each pair of
file and reader, and fails if a figure differs.
"""

import json
import os
import sys

# Neither program needs a display to read a file.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("OVITO_GUI_MODE", "0")

import ase
import ase.io
import numpy as np
import ovito
import plyfile
import pyvista
import vtk
from ovito.io import import_file

folder = sys.argv[1]
with open(os.path.join(folder, "expected.json")) as file:
    expected = json.load(file)
IDS = np.array(expected["ids"])
ORDER = np.argsort(IDS)
LOW, HIGH = (np.array(expected["box"][corner]) for corner in ("min", "max"))
PERIODIC = np.array(expected["box"]["periodic"])
failures = 0


def path(ending):
    return os.path.join(folder, "state." + ending)


def compare(reader, ending, ids, tolerance=0.0, **columns):
    """Compares columns by id; the tolerance is relative to the largest value, for readers that keep 32 bits."""
    global failures
    ids = np.asarray(ids).astype(np.int64).ravel()
    order = np.argsort(ids)
    wrong = [] if np.array_equal(ids[order], IDS[ORDER]) else ["ids"]
    for name, values in columns.items():
        if name == "box":
            low, high, periodic = values
            # The size of the box is stored by some formats, its corners by others.
            near = np.allclose(low, LOW, rtol=1e-12) and np.allclose(high, HIGH, rtol=1e-12)
            if not near or not np.array_equal(np.asarray(periodic).astype(bool), PERIODIC):
                wrong.append(name)
            continue
        if name in ("time", "step"):
            if values != expected[name]:
                wrong.append(name)
            continue
        want = np.array(expected[name])[ORDER]
        found = np.asarray(values)
        if found.shape != want.shape:
            wrong.append(f"{name} (shape {found.shape})")
            continue
        found = found[order]
        if want.dtype.kind in "US":
            equal = np.array_equal(found.astype(str), want)
        else:
            equal = np.max(np.abs(found - want)) <= tolerance * np.max(np.abs(want))
        if not equal:
            wrong.append(name)
    failures += bool(wrong)
    shown = ", ".join(["ids", *columns])
    print(f"{ending:13} {reader:15} {'WRONG: ' + ', '.join(wrong) if wrong else 'the same: ' + shown}")


def with_pyvista(ending):
    mesh = pyvista.read(path(ending))
    names = mesh.field_data["material_names"]
    compare(
        f"pyvista {pyvista.__version__}",
        ending,
        mesh["id"],
        position=mesh.points,
        velocity=mesh["velocity"],
        spin=mesh["spin"],
        radius=mesh["radius"],
        mass=mesh["mass"],
        fixed=mesh["fixed"],
        material=[str(names[index]) for index in mesh["material"]],
        box=(mesh.field_data["box_min"], mesh.field_data["box_max"], mesh.field_data["periodic"]),
        time=float(mesh.field_data["TimeValue"][0]),
        step=int(mesh.field_data["step"][0]),
    )
    # All points stand in one cell.
    assert mesh.n_cells == 1 and mesh.verts[0] == len(IDS), mesh


def with_pyvista_series():
    reader = pyvista.PVDReader(os.path.join(folder, "states.pvd"))
    times = reader.time_values
    reader.set_active_time_value(times[-1])
    mesh = reader.read()[0]
    compare(f"pyvista {pyvista.__version__}", "pvd", mesh["id"], position=mesh.points, radius=mesh["radius"])
    assert times == [0.0, expected["time"]], times


def with_pyvista_ply(ending):
    # The reader of VTK keeps the coordinates of the vertices, in 32 bits, and drops other properties.
    mesh = pyvista.read(path(ending))
    compare(f"vtk {vtk.VTK_VERSION}", ending, IDS, tolerance=1e-7, position=mesh.points)


def with_ovito(ending, **options):
    data = import_file(path(ending), **options).compute()
    particles = data.particles
    types = particles.particle_types
    columns = dict(
        position=particles.positions,
        velocity=particles["Velocity"],
        radius=particles["Radius"],
        mass=particles["Mass"],
        material=[types.type_by_id(t).name for t in types],
        fixed=particles["fixed"],
        spin=particles["Angular Velocity"],
    )
    cell = data.cell
    low = cell[:, 3]
    box = (low, low + np.diag(cell[:, :3]), cell.pbc)
    columns["box"] = box
    attributes = data.attributes
    columns["time"] = attributes["Time"]
    columns["step"] = attributes["Timestep" if "Timestep" in attributes else "Step"]
    compare(f"ovito {ovito.version_string}", ending, particles.identifiers, tolerance=1e-6, **columns)


def with_ase(file, **options):
    # ASE takes every species for an element of chemistry, so the materials of these two files have names of elements.
    atoms = ase.io.read(os.path.join(folder, file), **options)
    low = np.array(atoms.info.get("Origin", atoms.get_celldisp())).ravel()
    columns = dict(
        position=atoms.positions,
        box=(low, low + np.diag(atoms.cell), atoms.pbc),
        element=atoms.get_chemical_symbols(),
    )
    # From a dump it keeps positions and elements, in the order of the ids.
    ids = atoms.arrays.get("id", IDS[ORDER])
    if "radius" in atoms.arrays:
        columns.update(
            radius=atoms.arrays["radius"],
            velocity=atoms.arrays["velo"],
            spin=atoms.arrays["omega"],
            mass=atoms.arrays["mass"],
            fixed=atoms.arrays["fixed"],
            time=atoms.info["Time"],
            step=atoms.info["Step"],
        )
    compare(f"ase {ase.__version__}", file.removeprefix("elements."), ids, **columns)


def with_numpy(ending):
    state = np.load(path(ending), allow_pickle=False)
    compare(
        f"numpy {np.__version__}",
        ending,
        state["id"],
        position=state["position"],
        velocity=state["velocity"],
        spin=state["spin"],
        radius=state["radius"],
        mass=state["mass"],
        fixed=state["fixed"],
        material=state["material_names"][state["material"]],
        box=(state["box_min"], state["box_max"], state["periodic"]),
        time=float(state["time"]),
        step=int(state["step"]),
    )


def with_numpy_table(ending):
    # Compressed or not.
    table = np.genfromtxt(path(ending), delimiter=",", names=True, dtype=None, encoding="utf-8")
    vector = lambda names: np.stack([table[name] for name in names], axis=1)
    compare(
        f"numpy {np.__version__}",
        ending,
        table["id"],
        position=vector("xyz"),
        velocity=vector(["vx", "vy", "vz"]),
        spin=vector(["wx", "wy", "wz"]),
        radius=table["radius"],
        mass=table["mass"],
        fixed=table["fixed"],
        material=table["material"],
    )


def with_plyfile(ending):
    vertex = plyfile.PlyData.read(path(ending))["vertex"]
    vector = lambda names: np.stack([vertex[name] for name in names], axis=1)
    compare(
        "plyfile 1.1.5",
        ending,
        vertex["id"],
        position=vector("xyz"),
        velocity=vector(["vx", "vy", "vz"]),
        spin=vector(["wx", "wy", "wz"]),
        radius=vertex["radius"],
        mass=vertex["mass"],
        fixed=vertex["fixed"],
    )


with_pyvista("vtp")
with_pyvista_series()
with_pyvista_ply("ply")
for ending in ("xyz", "xyz.gz", "lammpstrj", "lammpstrj.gz", "dump"):
    with_ovito(ending)
with_ase("elements.xyz", format="extxyz")
with_ase("elements.lammpstrj", format="lammps-dump-text")
with_numpy("npz")
with_numpy_table("csv")
with_numpy_table("csv.gz")
with_plyfile("ply")
sys.exit(1 if failures else 0)
