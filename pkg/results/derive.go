package results

// Derive writes the classic CSV files of one database into its tag folder dir.
// It is a pure function of the canonical files there and of the database's
// record in the manifest: deriving twice gives the same bytes.
func Derive(dir string, run *DatabaseRun) error { panic("todo") }
