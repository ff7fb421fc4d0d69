package dbtesterpb

// ReasonMemoryLimit begins the reason of a session whose member was killed by the memory
// limit that its request gave it; the limit follows, such as "2 GB".
const ReasonMemoryLimit = "killed by the memory limit of "
