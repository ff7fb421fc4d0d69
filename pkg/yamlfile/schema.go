package yamlfile

import (
	"encoding"
	"maps"
	"reflect"
	"time"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Schema is a part of a JSON Schema.
type Schema map[string]any

// Schema returns the JSON Schema for the mapping. An empty value is an empty mapping.
func (s Section[S]) Schema() Schema {
	properties := Schema{}
	for _, f := range s.Fields {
		if f.Hidden {
			continue
		}
		property := f.Schema()
		if f.Meaning != "" {
			property["description"] = plainText(f.Meaning)
		}
		properties[f.Name] = property
	}
	return Schema{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

var link = pattern.New(`\[([^]]+)\]\([^)]*\)`)

// plainText removes Markdown links.
func plainText(markdown string) string { return link().ReplaceAllString(markdown, "$1") }

// OptionsSchema returns the schema for an options struct.
func OptionsSchema(options []Option) Schema {
	properties := Schema{}
	for _, o := range options {
		property := typeSchema(o.Value.Type())
		if o.Tag.Get("unit") == "bytes" { // like Option.Read
			property = clone(LargeSizeKind().Schema)
		}
		if o.Doc != "" {
			property["description"] = o.Doc
		}
		properties[o.Key] = property
	}
	return Schema{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// typeSchema returns the schema for the Go type t. Types that decode themselves and types without a
// rule accept anything.
func typeSchema(t reflect.Type) Schema {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return clone(DurationKind().Schema)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return Schema{}
	}
	switch t.Kind() {
	case reflect.String:
		return clone(TextKind().Schema)
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Schema{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Schema{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Slice:
		return Schema{"type": []string{"array", "null"}, "items": typeSchema(t.Elem())}
	case reflect.Pointer:
		return typeSchema(t.Elem())
	case reflect.Struct:
		return OptionsSchema(Options(reflect.New(t).Interface()))
	}
	return Schema{}
}

func clone(s Schema) Schema {
	out := Schema{}
	maps.Copy(out, s)
	return out
}
