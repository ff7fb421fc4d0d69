package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Schema returns the JSON Schema for the JSON file of a report: docs/report.schema.json.
func Schema() ([]byte, error) {
	s := schemaOf(reflect.TypeFor[reportJSON]())
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "all-aggregated.json of a report of dbtester"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return b.Bytes(), nil
}

// schema has the JSON Schema keywords that a report needs.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        []string           `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  any                `json:"additionalProperties,omitempty"`
	Items       *schema            `json:"items,omitempty"`
}

// schemaOf describes the encoding of a Go type.
func schemaOf(t reflect.Type) *schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &schema{Type: []string{"string"}, Format: "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return &schema{}
	case t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[json.Marshaler]()): // as in manifest.json
		return &schema{Type: []string{"object"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := schemaOf(t.Elem())
		s.Type = append(s.Type, "null")
		return s
	case reflect.Bool:
		return &schema{Type: []string{"boolean"}}
	case reflect.String:
		return &schema{Type: []string{"string"}}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: []string{"number"}}
	case reflect.Slice, reflect.Array:
		return &schema{Type: []string{"array"}, Items: schemaOf(t.Elem())}
	case reflect.Map:
		return &schema{Type: []string{"object"}, Additional: schemaOf(t.Elem())}
	case reflect.Struct:
		s := &schema{Type: []string{"object"}, Properties: map[string]*schema{}, Additional: false}
		s.fields(t)
		return s
	}
	return &schema{Type: []string{"integer"}}
}

// fields adds the fields of a struct. Cells in stages are cells without stages.
func (s *schema) fields(t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || f.Anonymous && !tagged && name == "" || !f.IsExported() || len(f.Index) > 1 && f.Name == "Parts" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		one := schemaOf(f.Type)
		one.Description = f.Tag.Get("doc")
		s.Properties[name] = one
		if !strings.Contains(options, "omit") && !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}
