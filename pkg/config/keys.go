package config

import "github.com/coreos/dbtester/pkg/yamlfile"

// Short names for declaring keys.
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

// leftOut is for keys that `config show` does not write.
func leftOut[S any](*S) *yamlfile.Node { return nil }

// optionalText declares a text that `config show` leaves out if it is empty.
func optionalText[S any](name, meaning string, kind kind[string], at func(*S) *string) field[S] {
	return key[S, string]{
		Row: row{Name: name, Meaning: meaning}, Kind: kind, At: at,
		Shown: func(s *S) bool { return *at(s) != "" },
	}.Field()
}
