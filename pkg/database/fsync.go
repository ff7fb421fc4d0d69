package database

// Fsyncer is a driver whose options change when a write is on disk. Fsync
// states it in one line for the options as decoded; without this interface
// [Info.Fsync] holds whatever the options are.
type Fsyncer interface {
	Fsync() string
}
