package results

// MarkIncomplete is a run that did not complete: it failed, was interrupted, or control
// died in it.
const MarkIncomplete = "incomplete"
