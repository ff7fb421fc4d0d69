package openjson

import (
	"encoding/json"
	"reflect"
	"testing"
)

type declared struct {
	Name string `json:"name,omitempty"`
	Size int    `json:"size,omitempty"`
}

func TestOtherKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		is     declared
		others map[string]json.RawMessage
		text   string
	}{
		{declared{}, nil, `{}`},
		{declared{Name: "a"}, nil, `{"name":"a"}`},
		{declared{}, map[string]json.RawMessage{"z": []byte(`[1,2]`)}, `{"z":[1,2]}`},
		{declared{"a", 1}, map[string]json.RawMessage{"z": []byte(`{"b":true}`), "b": []byte(`null`)}, `{"name":"a","size":1,"b":null,"z":{"b":true}}`},
	} {
		data, err := Marshal(tc.is, tc.others)
		if err != nil || string(data) != tc.text {
			t.Errorf("encoded as %s, %v, want %s", data, err, tc.text)
		}
		indented, err := json.MarshalIndent(json.RawMessage(data), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		var is declared
		others, err := Unmarshal(indented, &is)
		if err != nil || is != tc.is || !reflect.DeepEqual(others, tc.others) {
			t.Errorf("%s was read as %+v, %s, %v", data, is, others, err)
		}
	}
	for _, wrong := range []string{`[]`, `{"size":"a"}`, `{"x":`} {
		if _, err := Unmarshal([]byte(wrong), &declared{}); err == nil {
			t.Errorf("%s was read", wrong)
		}
	}
}
