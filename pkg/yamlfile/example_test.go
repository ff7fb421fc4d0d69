package yamlfile_test

import (
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// A caller lists the keys a mapping may have. All problems in the file are reported at once, each
// at its place.
func Example() {
	file := `name: probe
timeout: 5
sise: 1KiB
`
	r := yamlfile.New("probe.yaml")
	var name yamlfile.Given[string]
	var timeout yamlfile.Given[time.Duration]
	var size yamlfile.Given[int]
	if root := r.Document([]byte(file)); root != nil {
		r.Fields("the file", root, yamlfile.Keys{
			"name":    yamlfile.Into(r, &name, yamlfile.Text),
			"timeout": yamlfile.Into(r, &timeout, yamlfile.Duration),
			"size":    yamlfile.Into(r, &size, yamlfile.Size),
		})
	}
	fmt.Println(r.Err())
	fmt.Println(name.Is, timeout.Or(time.Second))
	// Output:
	// probe.yaml:2:10: timeout: 5 has no unit (did you mean 5s?)
	// probe.yaml:3:1: unknown key "sise" (did you mean "size"?)
	// probe 1s
}

// Options are decoded into a struct by its tags, over the values it already has.
func ExampleReadOptions() {
	type limits struct {
		Connections int           `yaml:"connections" doc:"largest number of connections"`
		Idle        time.Duration `yaml:"idle" doc:"an idle connection is closed after this time"`
	}
	options := limits{Connections: 100, Idle: time.Minute}
	r := yamlfile.New("limits.yaml")
	yamlfile.ReadOptions(r, "limits", r.Document([]byte("connections: 20\n")), &options)
	node, err := yamlfile.ShowOptions(&options)
	if err != nil || r.Err() != nil {
		fmt.Println(err, r.Err())
		return
	}
	shown, err := yamlfile.Dump(node)
	fmt.Println(string(shown), err)
	// Output:
	// # largest number of connections
	// connections: 20
	// # an idle connection is closed after this time
	// idle: 1m0s
	//  <nil>
}
