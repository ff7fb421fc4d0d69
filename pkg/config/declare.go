package config

import "github.com/coreos/dbtester/pkg/yamlfile"

// The words in which this package declares keys.
type (
	section[S any] = yamlfile.Section[S]
	field[S any]   = yamlfile.Field[S]
	key[S, T any]  = yamlfile.Key[S, T]
	part[S, T any] = yamlfile.Part[S, T]
	row            = yamlfile.Row
	kind[T any]    = yamlfile.Kind[T]
	written[S any] = yamlfile.Written[S]
	schema         = yamlfile.Schema
)
