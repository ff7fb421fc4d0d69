// Package loadwire converts a load's records to messages and back: a generator encodes its
// recorder's records, and control decodes them for package merge. Nothing is lost on the way:
// rows are equal, and histograms have the same count in every bucket.
package loadwire
