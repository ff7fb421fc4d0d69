// Package workload is the vocabulary of a load: the operations with their properties,
// the names of read modes, key laws, arrivals and mixes, and the parameters of a load
// and of its steps. The experiment file, the load engine, the
// manifest and the report share these types. The package imports nothing of ours
// and does nothing but describe, check and count.
package workload
