package config

import "github.com/coreos/dbtester/pkg/yamlfile"

// Variant replaces a file's values for the server of its databases, or of abilities. Its zero
// value changes nothing.
type Variant struct {
	// Version is the release that runs, and Binary the executable; "" keeps the file's value.
	// If either is given, Install and Binary, even if empty, also replace the file's values.
	Version, Binary string
	Install         bool
	// Defaults is the word for options that are not given, if the file has none.
	Defaults string
	// Flags hold texts of a command line over the file's values, by the key of an ability and the
	// keys below it. A map that is not nil, even if empty, gives the file the key.
	Flags map[string]map[string]string
}

// reader reads one experiment file against a catalog.
type reader struct {
	*yamlfile.Reader
	catalog Catalog
	variant Variant
}
