package consistency

// Replaced is a version that a guarded write replaced.
type Replaced struct {
	Version int64 `json:"version"`
	Request int64 `json:"request"`
	Client  int32 `json:"client"`
	Sent    int64 `json:"sent_ns"`
	End     int64 `json:"end_ns"`
}

// contradicts reports whether no store can have applied both writes in the given order. Either both
// replaced one version, or the second was sent after the first had ended and replaced an earlier
// version. Each write to a key gives it a greater version.
func (r *Replaced) contradicts(later *Replaced) bool {
	return r.Version == later.Version || r.End < later.Sent && r.Version > later.Version
}

// replacement is a version that was replaced, which is reported at most once.
type replacement struct {
	Replaced
	reported bool
}

// versions tracks the versions of a key that guarded writes replaced.
type versions struct {
	// open are from writes that may have run concurrently with writes judged later. closed is the
	// greatest among the others.
	open   []replacement
	closed *Replaced
}
