package weburl

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	base := mustParse(t, "http://example.org/a/b")
	tests := []struct {
		name, input string
		base        URL
		want        string
	}{
		{"URL", "HTTP://www.Example.org:80/?b&a#c", URL{},
			`{"input":"HTTP://www.Example.org:80/?b&a#c","canonical":"http://www.example.org/?b&a",` +
				`"fingerprint":"022adcb9e6fa6ac1","site":"http://www.example.org","surt":"org,example)/?a&b","partition":5}`},
		{"reference", "../c", base,
			`{"input":"../c","canonical":"http://example.org/c","fingerprint":"4ad4e6c8e9ecdb8e",` +
				`"site":"http://example.org","surt":"org,example)/c","partition":5}`},
		{"no URL", "mailto:a@example.org", base,
			`{"input":"mailto:a@example.org","error":"\"mailto:a@example.org\": scheme is not http or https"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got strings.Builder
			encoder := json.NewEncoder(&got)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(Describe(test.input, test.base, 64)); err != nil {
				t.Fatal(err)
			}
			if got.String() != test.want+"\n" {
				t.Errorf("got %s want %s", &got, test.want)
			}
		})
	}
}

// TestDescribePartitionZero holds that the first partition is written, not left out.
func TestDescribePartitionZero(t *testing.T) {
	got := Describe("http://example.org/", URL{}, 1)
	if got.Partition == nil || *got.Partition != 0 {
		t.Errorf("partition %v, want 0", got.Partition)
	}
}
