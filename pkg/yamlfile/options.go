package yamlfile

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Option describes one field in an options struct. Its key is the name in the yaml tag, and its
// Doc the text in the doc tag.
type Option struct {
	Key, Doc string
	// Tag holds all tags on the field.
	Tag reflect.StructTag
	// Value is the field itself. It can be set if the struct was passed by pointer.
	Value reflect.Value
}

// Options returns the fields of the struct that options points to, or nil if it does not point to a
// struct. Fields of inlined structs count as their parent's; nil pointers to structs are filled in.
func Options(options any) []Option { return optionsOf(reflect.ValueOf(options)) }

func optionsOf(v reflect.Value) []Option {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			if !v.CanSet() {
				return nil
			}
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	var list []Option
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, flags, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case slices.Contains(strings.Split(flags, ","), "inline"):
			list = append(list, optionsOf(v.Field(i))...)
		default:
			key := cmp.Or(name, strings.ToLower(field.Name))
			list = append(list, Option{Key: key, Doc: field.Tag.Get("doc"), Tag: field.Tag, Value: v.Field(i)})
		}
	}
	return list
}

// ReadOptions decodes a mapping over the struct that options points to. Fields whose keys are
// missing from the mapping keep their values. Every unknown key and every wrong value is reported
// at its place.
func ReadOptions(r *Reader, what string, node *Node, options any) {
	readStruct(r, what, node, reflect.ValueOf(options))
}

func readStruct(r *Reader, what string, node *Node, v reflect.Value) {
	known := Keys{}
	for _, o := range optionsOf(v) {
		known[o.Key] = func(key string, value *Node) { o.Read(r, key, value) }
	}
	r.Fields(what, node, known)
}

// Read decodes one value into the field; key names it in problems. A field with the tag unit
// "bytes" also accepts a size with a unit, such as 12MB.
func (o Option) Read(r *Reader, key string, node *Node) {
	if o.Tag.Get("unit") == "bytes" && node.ShortTag() == "!!str" {
		n, ok := LargeSize(r, key, node)
		switch {
		case !ok: // already reported
		case o.Value.OverflowInt(n):
			r.Errorf(node, "%s: %s is too large", key, Describe(node))
		default:
			o.Value.SetInt(n)
		}
		return
	}
	readValue(r, key, node, o.Value)
}

func readValue(r *Reader, key string, node *Node, v reflect.Value) {
	if decodesItself(v) {
		decode(r, key, node, v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		readValue(r, key, node, fresh.Elem())
		v.Set(fresh)
	case reflect.Struct:
		readStruct(r, key, node, v)
	case reflect.String:
		if s, ok := Text(r, key, node); ok {
			v.SetString(s)
		}
	case reflect.Bool:
		if b, ok := Truth(r, key, node); ok {
			v.SetBool(b)
		}
	case reflect.Float32, reflect.Float64:
		float(r, key, node, v)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		integer(r, key, node, v)
	case reflect.Slice:
		slice(r, key, node, v)
	default:
		decode(r, key, node, v)
	}
}

// decodesItself reports whether the type of v implements an unmarshaler.
func decodesItself(v reflect.Value) bool {
	if !v.CanAddr() {
		return false
	}
	switch v.Addr().Interface().(type) {
	case yaml.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// decode reads any other value with the yaml library.
func decode(r *Reader, key string, node *Node, v reflect.Value) {
	fresh := reflect.New(v.Type())
	fresh.Elem().Set(v)
	if err := node.Decode(fresh.Interface()); err != nil {
		r.Errorf(node, "%s: want %s, got %s", key, v.Type(), Describe(node))
		return
	}
	v.Set(fresh.Elem())
}

func integer(r *Reader, key string, node *Node, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		if d, ok := Duration(r, key, node); ok {
			v.SetInt(int64(d))
		}
		return
	}
	const want = "a whole number"
	if _, ok := scalar(r, key, node, want); !ok {
		return
	}
	n, ok := wholeNumber(node)
	switch {
	case !ok:
		r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
	case v.CanUint() && n < 0:
		r.Errorf(node, "%s: %d is negative", key, n)
	case v.CanUint() && v.OverflowUint(uint64(n)), v.CanInt() && v.OverflowInt(n):
		r.Errorf(node, "%s: %d is too large", key, n)
	case v.CanUint():
		v.SetUint(uint64(n))
	default:
		v.SetInt(n)
	}
}

func float(r *Reader, key string, node *Node, v reflect.Value) {
	const want = "a number"
	if _, ok := scalar(r, key, node, want); !ok {
		return
	}
	var f float64
	if tag := node.ShortTag(); (tag != "!!int" && tag != "!!float") || !decodeInto(node, &f) ||
		math.IsNaN(f) || math.IsInf(f, 0) {
		r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
		return
	}
	v.SetFloat(f)
}

func slice(r *Reader, key string, node *Node, v reflect.Value) {
	items, ok := r.Items(key, node)
	if !ok {
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		readValue(r, key, item, list.Index(i))
	}
	v.Set(list)
}

// EncodeOptions returns an options struct as YAML with every field; nil for nil options.
func EncodeOptions(options any) ([]byte, error) {
	if options == nil {
		return nil, nil
	}
	data, err := yaml.Dump(options)
	if err != nil {
		return nil, fmt.Errorf("encode options: %w", err)
	}
	return data, nil
}

// ShowOptions returns the options struct as a node with the doc text of every field as a comment
// above its key; nil for nil options.
func ShowOptions(options any) (*Node, error) {
	data, err := EncodeOptions(options)
	if err != nil || data == nil {
		return nil, err
	}
	var document Node
	if err := yaml.Load(data, &document); err != nil {
		return nil, fmt.Errorf("decode options: %w", err)
	}
	node := document.Content[0]
	comment(node, reflect.ValueOf(options))
	return node, nil
}

func comment(node *Node, v reflect.Value) {
	if node.Kind != yaml.MappingNode {
		return
	}
	for _, o := range optionsOf(v) {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key, value := node.Content[i], node.Content[i+1]; key.Value == o.Key {
				key.HeadComment = o.Doc
				comment(value, o.Value)
			}
		}
	}
}
