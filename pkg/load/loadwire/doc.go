// Package loadwire converts a load's records to messages and back: a generator encodes the records
// of its recorder, and control decodes them for package merge. Nothing is lost on the way: rows are
// equal, and histograms have the same count in every bucket.
package loadwire
