// Package workload is the vocabulary for loads: the operations with their properties, the names for
// read modes, key laws, arrivals and mixes, and the parameters of loads and their steps. The
// experiment file, the load engine, the manifest and the report share these types. The package
// imports no other package of this module and only describes, checks and counts.
package workload
