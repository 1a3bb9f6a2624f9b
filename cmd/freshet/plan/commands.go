// Package plan holds the commands that work out what a crawl should do, without crawling: how much each page matters,
// how often and when to visit it, in which order, and with how many fetchers.
package plan

import "github.com/spf13/cobra"

// Commands returns the commands.
func Commands() []*cobra.Command {
	return []*cobra.Command{weightsCommand(), planCommand(), scheduleCommand(), fleetCommand()}
}
