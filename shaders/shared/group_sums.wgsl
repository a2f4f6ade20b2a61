// Places of elements that the lanes of a workgroup add to a list together, with one atomic on the counter in storage.

var<workgroup> total_of_group: atomic<u32>;
var<workgroup> first_of_group: u32;

// Place of the elements of a lane among those of its workgroup; all lanes take part.
fn place_in_group(count: u32, lane: u32) -> u32 {
    if lane == 0u { atomicStore(&total_of_group, 0u); }
    workgroupBarrier();
    let place = atomicAdd(&total_of_group, count);
    workgroupBarrier();
    return place;
}
