package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"
)

// Nodes of a cluster may start with different settings, for example while an operator changes them on one node after
// the other. But a site is crawled by the settings of the node that has its partition, and the limits of the whole
// crawl are those of the first node by name. So the nodes tell one another their settings, and warn if they differ.

// settingsOfNode are the settings of a node that all nodes should have alike.
type settingsOfNode struct {
	Node     string            `json:"node"`
	Settings map[string]string `json:"settings"`
}

// commonSections are the sections of settings that all nodes should have alike, except for ownSettings.
var (
	commonSections = []string{"Seeds and scope", "Politeness", "Keeping fresh"}
	ownSettings    = []string{"for", "resolve", "bandwidth-out"}
)

// commonSettings returns the settings that all nodes should have alike. It replaces the name of a file by a digest of
// the content: machines may keep it in different places.
func commonSettings(flags *pflag.FlagSet) map[string]string {
	all := map[string]string{}
	for _, s := range settingSections {
		if !slices.Contains(commonSections, s.title) {
			continue
		}
		for _, name := range s.names {
			if slices.Contains(ownSettings, name) {
				continue
			}
			texts := shown(flags.Lookup(name))
			for i, text := range texts {
				if raw, err := os.ReadFile(text); err == nil {
					texts[i] = fmt.Sprintf("a file with the SHA-256 sum %.4x…", sha256.Sum256(raw))
				}
			}
			all[name] = strings.Join(texts, ",")
		}
	}
	return all
}

// differences returns how the settings of another node differ from this one's. Another version may lack some.
func differences(here, there map[string]string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if its, known := there[name]; known && its != here[name] {
			all = append(all, fmt.Sprintf("--%s: %q there, %q here", name, its, here[name]))
		}
	}
	return all
}

// compareSettings makes the node warn of each other node whose settings differ from its own, now and when one starts or
// reads its files again. tell tells the others this node's settings.
func compareSettings(conn *nats.Conn, cluster, node string, logger *slog.Logger, own func() map[string]string) (tell func(), err error) {
	subject := cluster + ".settings"
	message := func() []byte {
		raw, _ := json.Marshal(settingsOfNode{node, own()}) // texts alone
		return raw
	}
	hear := func(m *nats.Msg) {
		var its settingsOfNode
		if err := json.Unmarshal(m.Data, &its); err != nil || its.Node == node {
			return
		}
		if differ := differences(own(), its.Settings); len(differ) > 0 {
			logger.Warn("another node has different settings: give both the same, and start them again", "node", its.Node,
				"settings", strings.Join(differ, "; "))
		}
		if m.Reply != "" {
			_ = m.Respond(message()) // without an answer, the other node lacks one warning
		}
	}
	inbox := conn.NewRespInbox()
	for _, at := range []string{subject, inbox} {
		if _, err := conn.Subscribe(at, hear); err != nil {
			return nil, fmt.Errorf("--nats: %w", err)
		}
	}
	return func() {
		if err := conn.PublishRequest(subject, inbox, message()); err != nil {
			logger.Warn("the other nodes are not told the settings of this one", "error", err)
		}
	}, nil
}
