package config

import "github.com/coreos/dbtester/pkg/yamlfile"

// Variant replaces values in a file for database servers or for abilities. Its zero value changes
// nothing.
type Variant struct {
	// Version is the release that runs, and Binary the executable; "" keeps the value in the file.
	// If either is given, Install and Binary, even if empty, also replace those in the file.
	Version, Binary string
	Install         bool
	// Defaults says where options come from that are not given, unless the file says so itself.
	Defaults string
	// Flags hold texts from a command line, which replace values in the file, by an ability's key
	// and the keys below it. A map that is not nil, even if empty, gives the file the key.
	Flags map[string]map[string]string
}

// reader reads one experiment file against a catalog.
type reader struct {
	*yamlfile.Reader
	catalog Catalog
	variant Variant
}
