package results

import "time"

// Folder is one result folder.
type Folder struct{ dir string }

// Create makes base/SLUG/TIME+suffix/, where SLUG is made from the title and
// TIME is started in UTC as 20060102T150405Z; if it is taken, "-2", "-3"... is
// appended.
func Create(base, title string, started time.Time, suffix string) (*Folder, error) { panic("todo") }

// Open opens an existing result folder, by its directory.
func Open(dir string) (*Folder, error) { panic("todo") }

// Dir is the folder's directory.
func (f *Folder) Dir() string { return f.dir }

// Path joins elements below the folder.
func (f *Folder) Path(elem ...string) string { panic("todo") }

// MakeTag makes the folder of one database and returns its directory.
func (f *Folder) MakeTag(tag string) (dir string, err error) { panic("todo") }

// WriteManifest replaces the manifest atomically.
func (f *Folder) WriteManifest(m *Manifest) error { panic("todo") }

// Manifest reads the manifest. One of a newer format is an error.
func (f *Folder) Manifest() (*Manifest, error) { panic("todo") }
