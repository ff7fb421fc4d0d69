package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// option is one field of a driver's options struct, as the file knows it.
type option struct {
	name string
	// classic are the keys of classic files that mean this field, the best first.
	classic []string
	doc     string
	value   reflect.Value
}

// optionsOf lists the fields of the struct that v is or points to, by their yaml
// tags; inlined structs count as fields of their parent. Nil if v is no struct.
func optionsOf(v reflect.Value) []option {
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
	var list []option
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, flags, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case slices.Contains(strings.Split(flags, ","), "inline"):
			list = append(list, optionsOf(v.Field(i))...)
		default:
			o := option{name: name, doc: field.Tag.Get("doc"), value: v.Field(i)}
			if o.name == "" {
				o.name = strings.ToLower(field.Name)
			}
			if tag := field.Tag.Get("classic"); tag != "" {
				o.classic = strings.Split(tag, ",")
			}
			list = append(list, o)
		}
	}
	return list
}

// options decodes a mapping over the struct that v is or points to. Every unknown
// key and every wrong value is reported where it stands.
func (r *reader) options(what string, node *yaml.Node, v reflect.Value) {
	known := keys{}
	for _, o := range optionsOf(v) {
		known[o.name] = func(key string, value *yaml.Node) { r.option(key, value, o.value) }
	}
	r.fields(what, node, known)
}

// option decodes one value into a field of an options struct.
func (r *reader) option(key string, node *yaml.Node, v reflect.Value) {
	if decodesItself(v) {
		r.decode(key, node, v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		r.option(key, node, fresh.Elem())
		v.Set(fresh)
	case reflect.Struct:
		r.options(key, node, v)
	case reflect.String:
		if s, ok := r.text(key, node); ok {
			v.SetString(s)
		}
	case reflect.Bool:
		if b, ok := r.truth(key, node); ok {
			v.SetBool(b)
		}
	case reflect.Float32, reflect.Float64:
		r.float(key, node, v)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		r.integer(key, node, v)
	case reflect.Slice:
		r.slice(key, node, v)
	default:
		r.decode(key, node, v)
	}
}

// decodesItself reports whether a type has its own way to be read.
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

// decode leaves a value of a kind with no rules of its own to the yaml library.
func (r *reader) decode(key string, node *yaml.Node, v reflect.Value) {
	fresh := reflect.New(v.Type())
	fresh.Elem().Set(v)
	if err := node.Decode(fresh.Interface()); err != nil {
		r.errorf(node, "%s: want %s, got %s", key, v.Type(), describe(node))
		return
	}
	v.Set(fresh.Elem())
}

func (r *reader) integer(key string, node *yaml.Node, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		if d, ok := r.duration(key, node); ok {
			v.SetInt(int64(d))
		}
		return
	}
	const want = "a whole number"
	if _, ok := r.scalar(key, node, want); !ok {
		return
	}
	n, ok := wholeNumber(node)
	switch {
	case !ok:
		r.errorf(node, "%s: want %s, got %s", key, want, describe(node))
	case v.CanUint() && n < 0:
		r.errorf(node, "%s: %d is negative", key, n)
	case v.CanUint() && v.OverflowUint(uint64(n)), v.CanInt() && v.OverflowInt(n):
		r.errorf(node, "%s: %d is too large", key, n)
	case v.CanUint():
		v.SetUint(uint64(n))
	default:
		v.SetInt(n)
	}
}

func (r *reader) float(key string, node *yaml.Node, v reflect.Value) {
	const want = "a number"
	if _, ok := r.scalar(key, node, want); !ok {
		return
	}
	var f float64
	if tag := node.ShortTag(); (tag != "!!int" && tag != "!!float") || !decodeInto(node, &f) ||
		math.IsNaN(f) || math.IsInf(f, 0) {
		r.errorf(node, "%s: want %s, got %s", key, want, describe(node))
		return
	}
	v.SetFloat(f)
}

func (r *reader) slice(key string, node *yaml.Node, v reflect.Value) {
	items, ok := r.items(key, node)
	if !ok {
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		r.option(key, item, list.Index(i))
	}
	v.Set(list)
}

// classicFlags decodes a flag section of a classic file into the fields whose
// classic tags name its keys. As the classic tool did, 0 and "" keep the default.
func (r *reader) classicFlags(what string, node *yaml.Node, v reflect.Value) {
	options := optionsOf(v)
	var names []string
	for _, o := range options {
		names = append(names, o.classic...)
	}
	section := r.pairs(what, node)
	byKey := map[string]pair{}
	for _, p := range section {
		byKey[p.key.Value] = p
		if !slices.Contains(names, p.key.Value) {
			hinted := ""
			if near := nearest(p.key.Value, names); near != "" {
				hinted = fmt.Sprintf(" (did you mean %q?)", near)
			}
			r.warnf(p.key, "%s: %q is ignored: no option of this database carries it%s", what, p.key.Value, hinted)
		}
	}
	for _, o := range options {
		for i, name := range o.classic {
			p, ok := byKey[name]
			if !ok || p.value.Value == "0" || p.value.Kind == yaml.ScalarNode && p.value.Value == "" {
				continue
			}
			r.option(name, p.value, o.value)
			for _, other := range o.classic[i+1:] {
				if second, ok := byKey[other]; ok {
					r.warnf(second.key, "%s: %q is ignored: %q says the same", what, other, name)
				}
			}
			break
		}
	}
}

// encodeOptions is the options struct as YAML, every default filled in.
func encodeOptions(options any) ([]byte, error) {
	if options == nil {
		return nil, nil
	}
	data, err := yaml.Dump(options)
	if err != nil {
		return nil, fmt.Errorf("encode options: %w", err)
	}
	return data, nil
}
