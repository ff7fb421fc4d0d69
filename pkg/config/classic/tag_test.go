package classic

import "testing"

func TestVersionAndTag(t *testing.T) {
	for _, test := range []struct{ description, label, version, tag string }{
		{"etcd v3.2.0 (Go 1.8.3)", "v3_2", "v3.2.0", "etcd-v3.2.0-go1.8.3"},
		{"Zookeeper r3.5.3-beta (Java 8)", "r3_5_3_beta", "r3.5.3-beta", "zookeeper-r3.5.3-beta-java8"},
		{"Consul (Go 1.9.3)", "v1_0_2", "v1.0.2", "consul-go1.9.3"},
		{"Zookeeper", "r3_5_2_alpha", "r3.5.2-alpha", "zookeeper"},
		{"etcd tip (Go 1.8.3)", "tip", "", "etcd-tip-go1.8.3"},
		{"zetcd beta", "beta", "", "zetcd-beta"},
	} {
		if got := version(test.description, test.label); got != test.version {
			t.Errorf("version of %q is %q, want %q", test.description, got, test.version)
		}
		if got := Tag(test.description); got != test.tag {
			t.Errorf("tag of %q is %q, want %q", test.description, got, test.tag)
		}
	}
}
