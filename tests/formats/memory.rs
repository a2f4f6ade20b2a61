//! Reading takes no more memory than stated.

use std::fs;

use carom::files::read_frames;

use crate::allocation::peak;

/// Times the size of its file, or of its content, that reading may allocate.
const TIMES: u64 = 80;

#[test]
fn a_count_without_bytes_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let vtp = "<VTKFile type=\"PolyData\" byte_order=\"LittleEndian\" header_type=\"UInt64\"><PolyData>\
               <Piece NumberOfPoints=\"4000000000000\"><PointData>\
               <DataArray type=\"Float64\" Name=\"radius\" format=\"ascii\">1</DataArray></PointData><Points>\
               <DataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\" format=\"ascii\">1 2 3</DataArray>\
               </Points></Piece></PolyData></VTKFile>";
    for (file, text) in [
        ("a.xyz", "18446744073709551615\nProperties=pos:R:3:radius:R:1\n0 0 0 1\n"),
        ("b.xyz", "1\nProperties=pos:R:3:radius:R:1:rest:R:65535\n0 0 0 1\n"),
        (
            "a.ply",
            "ply\nformat binary_little_endian 1.0\nelement vertex 99999999999999\nproperty float x\nproperty float y\nproperty uchar radius\nend_header\n12345678",
        ),
        (
            "b.ply",
            "ply\nformat ascii 1.0\nelement vertex 99999999999999\nproperty float x\nproperty float y\nproperty uchar radius\nend_header\n1 2 3\n",
        ),
        ("a.dump", "ITEM: NUMBER OF ATOMS\n99999999999999\nITEM: ATOMS x y radius\n1 2 3\n"),
        ("a.vtp", vtp),
    ] {
        let path = folder.path().join(file);
        fs::write(&path, text).unwrap();
        let (outcome, held) = peak(|| read_frames(&path));
        assert!(outcome.is_err(), "{file}");
        assert!(held < 100_000, "{file}: {held}");
    }
}

#[test]
fn the_shortest_lines_stay_within_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    for (file, head, line) in [
        ("a.csv", "x,y,radius\n".to_owned(), "0,0,1\n"),
        ("b.csv", "x,y,radius,material\n".to_owned(), "0,0,1,a\n"),
        ("a.xyz", "100000\nProperties=pos:R:3:radius:R:1\n".to_owned(), "0 0 0 1\n"),
        ("a.dump", "ITEM: NUMBER OF ATOMS\n100000\nITEM: ATOMS x y radius\n".to_owned(), "0 0 1\n"),
        (
            "a.ply",
            "ply\nformat binary_little_endian 1.0\nelement vertex 100000\nproperty uchar x\nproperty uchar y\n\
             property uchar radius\nend_header\n"
                .to_owned(),
            "\u{1}\u{2}\u{3}",
        ),
    ] {
        let path = folder.path().join(file);
        fs::write(&path, head + &line.repeat(100_000)).unwrap();
        let (outcome, held) = peak(|| read_frames(&path).map(|frames| frames[0].spheres.len()));
        assert_eq!(outcome.unwrap(), 100_000, "{file}");
        let size = fs::metadata(&path).unwrap().len();
        println!("{file}: {:.1} times", held as f64 / size as f64);
        assert!(held <= TIMES * size, "{file}: {held} bytes for {size}");
    }
}

#[test]
fn an_archive_made_to_fill_the_memory_is_refused() {
    use std::io::Write;

    let folder = tempfile::tempdir().unwrap();
    let mut packer = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
    packer.write_all(b"x,y,radius\n").unwrap();
    let lines = b"0,0,1\n".repeat(1 << 16);
    (0..160).for_each(|_| packer.write_all(&lines).unwrap());
    let packed = packer.finish().unwrap();
    let path = folder.path().join("a.csv.gz");
    fs::write(&path, &packed).unwrap();
    let (outcome, held) = peak(|| read_frames(&path));
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("unpack it first"), "{error}");
    // The buffer of the content doubles as it grows.
    let limit = 100 * packed.len() as u64 + (16 << 20);
    assert!(held < 3 * limit, "{held} bytes for {} packed", packed.len());
}
