//! Keeps compiled shaders between runs on platforms with a pipeline cache (Vulkan).

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

// File header: kind and version, followed by the XXH3 of the remaining bytes.
const MAGIC: [u8; 8] = *b"caromPC1";
const HEAD: usize = MAGIC.len() + size_of::<u64>();

/// The pipeline cache of a device and its file. A failure here only costs compile time at the next start, so no
/// function returns an error.
#[derive(Debug)]
pub(super) struct Cache {
    pub pipelines: wgpu::PipelineCache,
    /// None for a cache that is not stored.
    path: Option<PathBuf>,
    // XXH3 of the file's content; 0 without a file.
    stored: AtomicU64,
}

impl Cache {
    /// Returns `None` if the device has no pipeline cache, the user has no cache folder, or `CAROM_NO_PIPELINE_CACHE`
    /// is set.
    pub fn open(device: &wgpu::Device) -> Option<Self> {
        let wanted =
            std::env::var_os("CAROM_NO_PIPELINE_CACHE").is_none_or(|text| text.is_empty() || text == "0");
        if !wanted || !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        Self::open_in(&folder()?, device)
    }

    // Returns `None` if wgpu has no cache name for the device.
    fn open_in(folder: &Path, device: &wgpu::Device) -> Option<Self> {
        let path = folder.join(wgpu::util::pipeline_cache_key(&device.adapter_info())?);
        let data = fs::read(&path).ok().and_then(|bytes| unpacked(&bytes).map(<[u8]>::to_vec));
        let stored = AtomicU64::new(data.as_deref().map_or(0, xxh3_64));
        let descriptor =
            wgpu::PipelineCacheDescriptor { label: Some("carom"), data: data.as_deref(), fallback: true };
        // SAFETY: `data` must come from `PipelineCache::get_data`. Only `save` writes files of this name, into a folder
        // private to the user. A damaged or truncated file fails its checksum and is ignored, and wgpu ignores the data
        // of another device, driver or version (`fallback`).
        let pipelines = unsafe { device.create_pipeline_cache(&descriptor) };
        Some(Self { pipelines, path: Some(path), stored })
    }

    /// An empty cache without a file; `None` if the device has no pipeline cache.
    #[cfg(feature = "files")]
    pub fn in_memory(device: &wgpu::Device) -> Option<Self> {
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let descriptor =
            wgpu::PipelineCacheDescriptor { label: Some("carom, not stored"), data: None, fallback: true };
        // SAFETY: there is no data.
        let pipelines = unsafe { device.create_pipeline_cache(&descriptor) };
        Some(Self { pipelines, path: None, stored: AtomicU64::new(0) })
    }

    /// Stores the current content of the cache, unless the file already holds the same bytes.
    pub fn save(&self) {
        let Some(path) = &self.path else { return };
        let Some(data) = self.pipelines.get_data() else { return };
        let hash = xxh3_64(&data);
        if self.stored.load(Ordering::Relaxed) != hash && write_atomically(path, &packed(&data)).is_ok() {
            self.stored.store(hash, Ordering::Relaxed);
        }
    }
}

fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
    };
    Some(caches?.join("carom"))
}

fn packed(data: &[u8]) -> Vec<u8> {
    [&MAGIC[..], &xxh3_64(data).to_le_bytes(), data].concat()
}

fn unpacked(bytes: &[u8]) -> Option<&[u8]> {
    let (head, data) = bytes.split_at_checked(HEAD)?;
    let (magic, hash) = head.split_at(MAGIC.len());
    (magic == MAGIC && hash == xxh3_64(data).to_le_bytes()).then_some(data)
}

// Writes all bytes or none, even if several processes write: each process writes a temporary file of its own and
// renames it.
fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let aside = path.with_extension(format!("{}.new", std::process::id()));
    let written = fs::File::create(&aside).and_then(|mut file| file.write_all(bytes));
    let renamed = written.and_then(|()| fs::rename(&aside, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&aside);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_left_out() {
        let bytes = packed(b"compiled shaders");
        assert_eq!(unpacked(&bytes), Some(&b"compiled shaders"[..]));
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert_eq!(unpacked(&damaged), None, "byte {place}");
            assert_eq!(unpacked(&bytes[..place]), None, "cut off at {place}");
        }
        assert_eq!(unpacked(&packed(b"")), Some(&b""[..]));
    }

    #[test]
    fn pipelines_are_stored_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let device = crate::gpu::Context::open(None).unwrap().device;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            assert_ne!(device.adapter_info().backend, wgpu::Backend::Vulkan, "Vulkan has pipeline caches");
            return;
        }
        let first = Cache::open_in(folder.path(), &device).unwrap();
        assert_eq!(first.stored.load(Ordering::Relaxed), 0);
        let shader = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
                      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
                          x[id.x] = x[id.x] * 3u;
                      }";
        let compile = |cache: &Cache| {
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: None,
                source: wgpu::ShaderSource::Wgsl(shader.into()),
            });
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: Some(&cache.pipelines),
            })
        };
        compile(&first);
        first.save();
        let bytes = fs::read(first.path.as_ref().unwrap()).unwrap();
        assert!(unpacked(&bytes).is_some());
        let again = Cache::open_in(folder.path(), &device).unwrap();
        assert_eq!(again.stored.load(Ordering::Relaxed), xxh3_64(unpacked(&bytes).unwrap()));
        compile(&again);
        // A truncated file counts as missing, and the next save replaces it.
        fs::write(again.path.as_ref().unwrap(), &bytes[..bytes.len() / 2]).unwrap();
        let mended = Cache::open_in(folder.path(), &device).unwrap();
        assert_eq!(mended.stored.load(Ordering::Relaxed), 0);
        compile(&mended);
        mended.save();
        assert!(unpacked(&fs::read(mended.path.as_ref().unwrap()).unwrap()).is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn files_appear_whole_and_leave_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/cache");
        write_atomically(&path, b"first").unwrap();
        write_atomically(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        // A folder has the name of the file.
        assert!(write_atomically(path.parent().unwrap(), b"third").is_err());
        assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }
}
