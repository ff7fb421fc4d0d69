package database

// Fsyncer is a driver whose options change when a write is on disk. Fsync
// states it in one line for the options as decoded; without this interface
// [Info.Fsync] holds whatever the options are.
type Fsyncer interface {
	Fsync() string
}

// ExtraFlags is a driver whose options may hold raw flags for the server. An
// agent refuses them from the wire unless it was told to allow them.
type ExtraFlags interface {
	// ExtraFlags returns the raw flags in order, nil when there are none.
	ExtraFlags() []string
}
