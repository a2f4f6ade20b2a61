"""Compares `carom analyze` with freud on the same files: g(r), contacts of each sphere, mean-square displacement.

Arguments: the carom command, and a folder for its files. Prints a line with the largest difference for each comparison, and ends
with an error if a difference exceeds its bound.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

import freud
import numpy as np

CAROM, FOLDER = sys.argv[1], Path(sys.argv[2])


def carom(*arguments):
    done = subprocess.run([CAROM, *map(str, arguments)], capture_output=True, text=True, cwd=FOLDER)
    if done.returncode != 0:
        sys.exit(f"carom {arguments}: {done.stderr}")
    return done.stdout


def frame(path):
    """Box lengths, positions relative to the middle of the box, and radii, sorted by id."""
    lines = path.read_text().splitlines()
    comment = lines[1]
    lattice = np.array(comment.split('Lattice="')[1].split('"')[0].split(), float)
    origin = np.array(comment.split('Origin="')[1].split('"')[0].split(), float)
    size = lattice[[0, 4, 8]]
    rows = sorted((line.split() for line in lines[2:]), key=lambda row: int(row[0]))
    positions = np.array([row[2:5] for row in rows], float) - origin - size / 2
    return size, positions, np.array([row[8] for row in rows], float)


def table(path, name):
    with open(path) as file:
        return np.array([float(row[name]) for row in csv.DictReader(file)])


def check(name, difference, bound):
    print("ok" if difference <= bound else "WRONG", name, f"{difference:.3g}, allowed {bound:.3g}")
    if not difference <= bound:
        sys.exit(1)


def box_of(size, is_flat=False):
    return freud.box.Box(size[0], size[1], 0, is2D=True) if is_flat else freud.box.Box(*size)


def radial(name, path, bins, longest, is_flat=False):
    carom("analyze", path, "--what", "rdf", "--bins", bins, "--range", longest, "--out", name)
    size, positions, _ = frame(FOLDER / path)
    rdf = freud.density.RDF(bins, longest, normalization_mode="finite_size")
    rdf.compute((box_of(size, is_flat), positions))
    pairs = table(FOLDER / name / "rdf.csv", "pairs")
    ours = table(FOLDER / name / "rdf.csv", "g")
    # freud counts every pair twice, in f32: a pair on the edge of a bin may fall into the next one.
    moved = np.abs(np.cumsum(rdf.bin_counts / 2 - pairs)).max()
    check(f"{name}: g(r), pairs that cross an edge of a bin, share of all pairs", moved / pairs.sum(), 1e-5)
    same = rdf.bin_counts / 2 == pairs
    # freud divides by the number of spheres where an ideal gas has one less.
    check(f"{name}: g(r), bins with equal counts", np.abs(rdf.rdf - ours)[same].max() / ours.max(), 1e-5)
    n = table(FOLDER / name / "rdf.csv", "neighbors")
    theirs = np.asarray(rdf.n_r)
    check(f"{name}: neighbours within r", np.abs(theirs - n).max() / n.max(), 1e-5)


def contacts(name, path, tolerance, is_flat=False):
    text = carom("analyze", path, "--what", "coordination", "--tolerance", tolerance, "--out", name, "--json")
    ours = json.loads(text)["coordination"]
    size, positions, radii = frame(FOLDER / path)
    # Equal spheres, so that one distance decides.
    reach = 2 * radii.mean() * (1 + tolerance)
    query = freud.locality.AABBQuery(box_of(size, is_flat), positions)
    found = query.query(positions, {"r_max": reach, "exclude_ii": True}).toNeighborList()
    counts = np.bincount(found.query_point_indices, minlength=len(positions))
    histogram = np.bincount(counts)
    mine = table(FOLDER / name / "coordination.csv", "spheres").astype(int)
    longest = max(len(mine), len(histogram))
    pad = lambda a: np.pad(a, (0, longest - len(a)))
    wrong = np.abs(pad(histogram) - pad(mine)).sum()
    check(f"{name}: spheres with another number of contacts, of {len(positions)}", wrong / len(positions), 1e-3)
    check(f"{name}: contacts {ours['contacts']}", abs(counts.sum() / 2 - ours["contacts"]) / max(ours["contacts"], 1), 1e-3)


def displacement(name, paths):
    carom("analyze", *paths, "--what", "msd", "--out", name)
    frames = [frame(FOLDER / path) for path in paths]
    size = frames[0][0]
    wrapped = np.array([positions for _, positions, _ in frames])
    steps = np.diff(wrapped, axis=0)
    images = np.concatenate([np.zeros((1, *wrapped.shape[1:])), -np.cumsum(np.round(steps / size), axis=0)])
    ours = table(FOLDER / name / "msd.csv", "msd")

    def theirs(positions, images):
        msd = freud.msd.MSD(box_of(size), mode="window")
        return np.asarray(msd.compute(positions, images.astype(np.int32)).msd)

    # freud's window mode is the difference of sums of squares of the positions, in f32: it loses digits where paths are short
    # and the box is large. Paths that start at the origin have the same displacements and small squares.
    check(f"{name}: mean-square displacement", np.abs(theirs(wrapped, images) - ours).max() / ours.max(), 1e-3)
    paths = np.concatenate([np.zeros((1, *wrapped.shape[1:])), np.cumsum(steps - size * np.round(steps / size), axis=0)])
    found = theirs(paths, np.zeros(paths.shape))
    check(f"{name}: mean-square displacement, paths from the origin", np.abs(found - ours).max() / ours.max(), 1e-5)


def lattice():
    """An fcc lattice of 8 x 8 x 8 cells of edge 1.5, as extended XYZ."""
    cells = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    sites = (1.5 * (cells + np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]))).reshape(-1, 3) + 0.1
    head = 'Lattice="12.0 0.0 0.0 0.0 12.0 0.0 0.0 0.0 12.0" Origin="0.0 0.0 0.0" '
    head += 'Properties=id:I:1:species:S:1:pos:R:3:velo:R:3:radius:R:1:mass:R:1 pbc="T T T" Time=0.0'
    radius = 1.5 / np.sqrt(8)
    rows = [f"{k} default {x} {y} {z} 0 0 0 {radius} 1" for k, (x, y, z) in enumerate(sites)]
    (FOLDER / "fcc.xyz").write_text("\n".join([str(len(rows)), head, *rows]) + "\n")


carom("run", "gas", "--backend", "cpu", "--steps", 60, "--every", 6, "--out", "gas", "--quiet",
      "--set", "spheres.0.random.volume_fraction=0.4", "--set", "spheres.0.random.count=8000")
radial("gas_rdf", "gas/final.xyz", 200, 5.0)
contacts("gas_contacts", "gas/final.xyz", 0.05)
displacement("gas_msd", [f"gas/state-{step:08}.xyz" for step in range(6, 61, 6)])
carom("run", "compress", "--backend", "cpu", "--out", "compressed", "--quiet")
radial("compressed_rdf", "compressed/final.xyz", 300, 4.5)
contacts("compressed_contacts", "compressed/final.xyz", 0.03)
lattice()
contacts("fcc_contacts", "fcc.xyz", 0.001)
radial("fcc_rdf", "fcc.xyz", 101, 5.0)
