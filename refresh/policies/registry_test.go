package policies_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"freshet/refresh"
	"freshet/refresh/policies"
	"freshet/refresh/refreshtest"
)

const day = 86400.0

// TestPolicies holds every named policy to the promises of package refresh.
func TestPolicies(t *testing.T) {
	for _, name := range policies.Names() {
		t.Run(name, func(t *testing.T) {
			refreshtest.Run(t, func() refresh.Policy {
				p, err := policies.New(name, policies.Setting{Budget: 8 / day, Interval: 7 * day, Random: rand.New(rand.NewPCG(1, 2))})
				if err != nil {
					t.Fatal(err)
				}
				return p
			})
		})
	}
}

func TestUnknown(t *testing.T) {
	if _, err := policies.New("defaults", policies.Setting{}); err == nil || !strings.Contains(err.Error(), "want one of default, plan") {
		t.Errorf("error %v", err)
	}
	if !policies.Blind("uniform") || policies.Blind(policies.Default) {
		t.Error("uniform is blind, the default is not")
	}
}
