//go:build !linux

package nft

import "errors"

var errLinux = errors.New("tables of nftables need Linux")

// Check returns an error: only Linux has tables.
func Check() error { return errLinux }

// Names returns an error: only Linux has tables.
func Names() ([]string, error) { return nil, errLinux }

// Table cannot be made.
type Table struct{}

// Drop returns an error: only Linux has tables.
func Drop(string, []Rule, int) (*Table, error) { return nil, errLinux }

// Queue returns an error: only Linux has tables.
func Queue(string, []Rule, int, uint16) (*Table, error) { return nil, errLinux }

// Counted counts nothing.
func (t *Table) Counted() (Counted, error) { return Counted{}, errLinux }

// Close has nothing to do.
func (t *Table) Close() error { return nil }
