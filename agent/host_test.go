package agent

import (
	"reflect"
	"testing"

	"github.com/coreos/dbtester/pkg/results"
)

// Every fact of a host must be on the wire: one that is not is missing from the
// records of all members.
func TestHostMessageIsComplete(t *testing.T) {
	var host results.Host
	facts := reflect.ValueOf(&host).Elem()
	for i := range facts.NumField() {
		switch f := facts.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Float64:
			f.SetFloat(1.5)
		default:
			t.Fatalf("field %s has kind %v, which this test cannot fill", facts.Type().Field(i).Name, f.Kind())
		}
	}
	message := hostMessage(host).ProtoReflect()
	fields := message.Descriptor().Fields()
	if fields.Len() != facts.NumField() {
		t.Errorf("the message has %d fields, a host has %d facts", fields.Len(), facts.NumField())
	}
	for i := range fields.Len() {
		if !message.Has(fields.Get(i)) {
			t.Errorf("field %s of the message is not filled in", fields.Get(i).Name())
		}
	}
}
