//! The palette of a GIF: at most 255 colours for the whole film, so that unchanged pixels keep their colour between frames.

/// Bits per channel by which colours are distinguished. More bits make the tables larger, fewer cause bands in gradients.
const BITS: u32 = 6;

const BINS: usize = 1 << (3 * BITS);

/// Number of colours, besides the transparent one for unchanged pixels.
pub const MOST: usize = 255;

/// Passes that move each colour to the mean of its pixels; the colours settle after a few passes.
const PASSES: usize = 6;

/// Colour histogram of a film.
pub struct Histogram {
    counts: Vec<u64>,
}

/// The colours of a film, and the nearest colour for each bin.
pub struct Palette {
    /// Red, green, blue.
    pub colours: Vec<[u8; 3]>,
    nearest: Vec<u8>,
}

fn bin(rgb: [u8; 3]) -> usize {
    let [r, g, b] = rgb.map(|c| usize::from(c >> (8 - BITS)));
    (r << (2 * BITS)) | (g << BITS) | b
}

// Colour at the centre of a bin.
fn colour_of(bin: usize) -> [f64; 3] {
    let mask = (1 << BITS) - 1;
    let step = f64::from(1_u32 << (8 - BITS));
    [bin >> (2 * BITS), bin >> BITS, bin].map(|c| ((c & mask) as f64 + 0.5) * step - 0.5)
}

// Squared distance with weights that approximate the eye's sensitivity.
fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    let weights = [2.0, 4.0, 3.0];
    (0..3).map(|k| weights[k] * (a[k] - b[k]).powi(2)).sum()
}

impl Histogram {
    pub fn new() -> Self {
        Self { counts: vec![0; BINS] }
    }

    /// Counts the pixels of a frame (red, green, blue).
    pub fn add(&mut self, rgb: &[u8]) {
        for pixel in rgb.chunks_exact(3) {
            self.counts[bin([pixel[0], pixel[1], pixel[2]])] += 1;
        }
    }

    /// Chooses the colours: median cut, then the mean of the pixels nearest to each colour.
    pub fn palette(&self) -> Palette {
        // Raises the weight of rare colours; otherwise a few bright spheres would be drawn in grey.
        let weight = |bin: usize| (self.counts[bin] as f64).powf(0.75);
        let bins: Vec<usize> = (0..BINS).filter(|&bin| self.counts[bin] > 0).collect();
        let mut boxes = vec![bins];
        while boxes.len() < MOST {
            // The box with the largest spread, and the channel of that spread.
            let spread = |of: &Vec<usize>| (0..3).map(|k| spread(of, k, &weight)).fold(0.0, f64::max);
            let Some((widest, most)) = boxes
                .iter()
                .map(spread)
                .enumerate()
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .filter(|(_, most)| *most > 0.0)
            else {
                break;
            };
            let mut of = boxes.swap_remove(widest);
            let channel = (0..3).find(|&k| self::spread(&of, k, &weight) == most).unwrap_or(0);
            of.sort_by(|&a, &b| colour_of(a)[channel].total_cmp(&colour_of(b)[channel]));
            let half = 0.5 * of.iter().map(|&bin| weight(bin)).sum::<f64>();
            let mut sum = 0.0;
            let at = of.iter().position(|&bin| {
                sum += weight(bin);
                sum >= half
            });
            let cut = (at.unwrap_or(0) + 1).clamp(1, of.len() - 1);
            let rest = of.split_off(cut);
            boxes.extend([of, rest]);
        }
        let mut colours: Vec<[f64; 3]> = boxes.iter().map(|of| mean(of, &weight)).collect();
        let all: Vec<usize> = boxes.concat();
        for _ in 0..PASSES {
            let mut members = vec![vec![]; colours.len()];
            all.iter().for_each(|&bin| members[nearest(&colours, colour_of(bin))].push(bin));
            for (colour, members) in colours.iter_mut().zip(&members) {
                if !members.is_empty() {
                    *colour = mean(members, &weight);
                }
            }
        }
        let mut table = vec![0; BINS];
        all.iter().for_each(|&bin| table[bin] = nearest(&colours, colour_of(bin)) as u8);
        let colours = colours.iter().map(|c| c.map(|v| v.round().clamp(0.0, 255.0) as u8)).collect();
        Palette { colours, nearest: table }
    }
}

fn mean(bins: &[usize], weight: &impl Fn(usize) -> f64) -> [f64; 3] {
    let total: f64 = bins.iter().map(|&bin| weight(bin)).sum();
    std::array::from_fn(|k| {
        bins.iter().map(|&bin| weight(bin) * colour_of(bin)[k]).sum::<f64>() / total.max(f64::MIN_POSITIVE)
    })
}

// Sum of the squared deviations from the mean in one channel.
fn spread(bins: &[usize], channel: usize, weight: &impl Fn(usize) -> f64) -> f64 {
    if bins.len() < 2 {
        return 0.0;
    }
    let middle = mean(bins, weight)[channel];
    bins.iter().map(|&bin| weight(bin) * (colour_of(bin)[channel] - middle).powi(2)).sum()
}

fn nearest(colours: &[[f64; 3]], wanted: [f64; 3]) -> usize {
    let near = (0..colours.len())
        .min_by(|&a, &b| distance(colours[a], wanted).total_cmp(&distance(colours[b], wanted)));
    near.unwrap_or(0)
}

impl Palette {
    /// Index of the palette colour of a pixel.
    pub fn index(&self, rgb: [u8; 3]) -> u8 {
        self.nearest[bin(rgb)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_are_kept_as_they_are() {
        let colours = [[0, 0, 0], [255, 255, 255], [200, 30, 60], [12, 120, 250]];
        let mut histogram = Histogram::new();
        for (k, colour) in colours.iter().enumerate() {
            histogram.add(&colour.repeat(10_usize.pow(k as u32)));
        }
        let palette = histogram.palette();
        assert_eq!(palette.colours.len(), colours.len());
        for colour in colours {
            let stands = palette.colours[usize::from(palette.index(colour))];
            assert!(stands.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 2), "{stands:?} for {colour:?}");
        }
    }

    #[test]
    fn a_wheel_of_colours_is_stood_for_closely() {
        let mut histogram = Histogram::new();
        let ramp: Vec<[u8; 3]> =
            (0..=255_u8).flat_map(|k| [[k, 255 - k, 128], [k, k, k], [255 - k, 60, k]]).collect();
        histogram.add(&ramp.concat());
        let palette = histogram.palette();
        assert!(palette.colours.len() <= MOST);
        for colour in ramp {
            let stands = palette.colours[usize::from(palette.index(colour))];
            assert!(stands.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 8), "{stands:?} for {colour:?}");
        }
    }
}
