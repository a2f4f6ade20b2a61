//! Examples at the end of the help of the subcommands. A test parses every line that begins with `carom`.

pub const CAROM: &str = "\
Examples:
  carom scenes
  carom run gas --steps 100
  carom run cradle --backend exact --json";

pub const RUN: &str = "\
Examples:
  carom run gas --steps 100                                 a built-in scene
  carom run my.toml --time 5 --out out --every 100          states in a folder
  carom run heap --set materials.default.friction=0.1 --metrics heap.csv
  carom run gas --events gas.bin --steps 10                 every impact, for NumPy
  carom run gas --steps 100000 --out out --dry-run          what that run would take
  carom run hopper --out out --checkpoint-every 500         go on after an interruption:
  carom run --resume out/checkpoint-00001000.safetensors
  carom run hopper -v --quiet --contacts hopper.csv";

pub const SCENES: &str = "\
Examples:
  carom scenes
  carom scenes --show gas > my.toml";

pub const ADAPTERS: &str = "\
Examples:
  carom adapters
  carom adapters --json";

pub const BENCH: &str = "\
Examples:
  carom bench --scenes gas --sizes 1e4,1e5 --threads 1,2
  carom bench --scenes gas,mixture --backends cpu,gpu --json bench.json
  carom bench --scenes gas --sizes 1e3,1e4,1e5 --svg cost.svg --history history.jsonl";

#[cfg(feature = "viewer")]
pub const VIEW: &str = "\
In the window, ? lists keys and mouse actions.

Examples:
  carom view gas
  carom view heap --backend cpu --paused";

pub const VERIFY: &str = "\
Examples:
  carom verify gas --steps 20
  carom verify heap --stages --json";

pub const DOCTOR: &str = "\
Examples:
  carom doctor --out report.json
  carom doctor --section machine,costs --budget 1m";

pub const VALIDATE: &str = "\
Examples:
  carom validate --report report                            every quick case, on the best backend and on exact
  carom validate --list
  carom validate --case pressure --full --backend cpu --keep scenes";

pub const RENDER: &str = "\
Examples:
  carom render gas --out gas.gif
  carom render heap --out heap.png --start 20 --camera iso
  carom render hopper --out frames --frames 100 --speed 2 --size 1280x720";
