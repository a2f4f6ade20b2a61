// What a sphere meets next. Where contacts that rest are solved nobody asks for it.

@group(1) @binding(3) var<storage, read_write> next_events: array<NextEvent>;
