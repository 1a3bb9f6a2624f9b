package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"freshet/weburl"
)

// A node waits for as long as a partition's log takes no entries: without the entry it does not know whether it still
// has the partition. It tells of that in its log, in its lease, and by Late.

// lookLate notes which partitions wait for their log, and logs when some begin to and when none does any more.
func (c *Cluster) lookLate() {
	c.mu.Lock()
	has, before := c.members.partitions(), len(c.members.late)
	c.mu.Unlock()
	var late []Lack
	for _, p := range has {
		if err := c.log.Late(p); err != nil {
			late = append(late, Lack{p, err.Error()})
		}
	}
	c.mu.Lock()
	c.members.late = late
	c.mu.Unlock()
	for _, sentence := range lateness(c.options.Node, late) {
		if before == 0 {
			c.options.Logger.Warn(sentence)
		}
	}
	if before > 0 && len(late) == 0 {
		c.options.Logger.Warn("the log takes entries again")
	}
}

// Late implements node.Cluster.
func (c *Cluster) Late() (partitions int, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wait []Lack
	for _, l := range c.members.late {
		if !c.busy[l.Partition] { // else it is about to be taken, and the node's other work goes on
			wait = append(wait, l)
		}
	}
	if len(wait) > 0 {
		why = errors.New("cluster: " + strings.Join(lateness(c.options.Node, wait), "; "))
	}
	return len(c.members.late), why
}

// lateness returns a sentence without its full stop for each cause for which a node waits for the log.
func lateness(node string, late []Lack) (all []string) {
	of := map[string][]weburl.Partition{}
	var causes []string
	for _, l := range late {
		if of[l.Why] == nil {
			causes = append(causes, l.Why)
		}
		of[l.Why] = append(of[l.Why], l.Partition)
	}
	for _, why := range causes {
		slices.Sort(of[why])
		numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(of[why]), " ", ", "), "[]")
		all = append(all, fmt.Sprintf("%s waits to store pages of partitions %s: %s", node, numbers, why))
	}
	return all
}
