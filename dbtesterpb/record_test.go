package dbtesterpb_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/process/environment"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
)

// Every fact of a record must arrive: one that does not is missing from the records of all
// members.
func TestRecordIsComplete(t *testing.T) {
	arrives[results.Host](t)
	arrives[results.Disk](t)
	arrives[results.Release](t)
	arrives[resources.Limits](t)
	arrives[resources.Use](t)
	arrives[environment.Facts](t)
}

// arrives sends a record whose every field has a value.
func arrives[T any](t *testing.T) {
	t.Helper()
	var sent T
	fill(t, reflect.ValueOf(&sent).Elem())
	data, err := dbtesterpb.Record("the record", sent)
	if err != nil {
		t.Fatalf("encode a %T: %v", sent, err)
	}
	got, err := dbtesterpb.ReadRecord[T]("the record", data)
	if err != nil {
		t.Fatalf("decode a %T: %v", sent, err)
	}
	if diff := cmp.Diff(&sent, got); diff != "" {
		t.Errorf("a %T must arrive as it was sent (-want +got):\n%s", sent, diff)
	}
}

// fill gives every field of a struct a value, and of the structs that it points to.
func fill(t *testing.T, facts reflect.Value) {
	t.Helper()
	for i := range facts.NumField() {
		switch f := facts.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Float64:
			f.SetFloat(1.5)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"x"}))
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]string{"x": "y"}))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			fill(t, f.Elem())
		default:
			t.Fatalf("field %s of %v has kind %v, which this test cannot fill", facts.Type().Field(i).Name, facts.Type(), f.Kind())
		}
	}
}

func TestReadRecord(t *testing.T) {
	if got, err := dbtesterpb.ReadRecord[results.Host]("the machine", nil); got != nil || err != nil {
		t.Errorf("no record: got %+v, error %v, want neither", got, err)
	}
	for data, want := range map[string]string{
		"{":                          "decode the machine: unexpected end of JSON input",
		"[]":                         "decode the machine: json: cannot unmarshal array",
		`{"cpus":"four"}`:            "decode the machine: json: cannot unmarshal string",
		strings.Repeat("[", 20_000):  "decode the machine: ",
		strings.Repeat(" ", 300<<10): "decode the machine: it must be at most 262144 bytes, got 307200",
	} {
		if _, err := dbtesterpb.ReadRecord[results.Host]("the machine", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: error %v, want one that begins with %q", data, err, want)
		}
	}
	if _, err := dbtesterpb.Record("limits", resources.Limits{CPUs: math.NaN()}); err == nil || !strings.HasPrefix(err.Error(), "encode limits: ") {
		t.Errorf("a record with a number that JSON lacks: error %v, want one that names the record", err)
	}
}
