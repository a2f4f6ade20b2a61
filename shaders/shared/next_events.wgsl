// The next event of each sphere. The stages that solve resting contacts do not use it.

@group(1) @binding(3) var<storage, read_write> next_events: array<NextEvent>;
