package main

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
	"freshet/dashboard/units"
	"freshet/node/cluster"
)

// operate does something to a cluster's layout.
func (s *clusterSettings) operate(ctx context.Context, do func(context.Context, *cluster.Operator) error) error {
	return s.reach(ctx, func(ctx context.Context, conn *nats.Conn) error {
		o, err := cluster.Operate(ctx, conn, s.name)
		if err != nil {
			return err
		}
		return do(ctx, o)
	})
}

func clusterDrainCommand() *cobra.Command {
	var s clusterSettings
	var undo bool
	cmd := &cobra.Command{
		Use: "drain NODE", Short: "Move all partitions of a node to the other nodes", Args: command.OneArg("NODE"),
		Long: "The other nodes take over the node's partitions one by one. The node gets none until you give --undo, even if it is\n" +
			"restarted, as long as another node runs. It still follows all logs. Stop it when freshet cluster status shows that\n" +
			"it has no partitions left.",
		Example: "  freshet cluster drain two --nats nats://a:4222\n  freshet cluster drain two --undo --nats nats://a:4222",
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.operate(cmd.Context(), func(ctx context.Context, o *cluster.Operator) error {
				if err := o.Drain(ctx, args[0], undo); err != nil {
					return err
				}
				if undo {
					fmt.Fprintf(cmd.OutOrStdout(), "%s gets its share of partitions again\n", args[0])
					return nil
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is giving its partitions away: watch freshet cluster status\n", args[0])
				return nil
			})
		},
	}
	s.serversOf(cmd)
	cmd.Flags().BoolVar(&undo, "undo", false, "give the node its share of partitions again")
	return cmd
}

func clusterRebalanceCommand() *cobra.Command {
	var s clusterSettings
	cmd := &cobra.Command{
		Use: "rebalance", Short: "Even out the pages of a cluster's nodes", Args: command.NoArgs,
		Long: "Normally every node has the same number of partitions. If some have far more pages than others, this moves as few\n" +
			"partitions as possible until every node has about the same number of pages. That lasts until a node joins, ends or is\n" +
			"drained.",
		Example: "  freshet cluster rebalance --nats nats://a:4222",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.operate(cmd.Context(), func(ctx context.Context, o *cluster.Operator) error {
				moved, err := o.Rebalance(ctx)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "moving %s: watch freshet cluster status\n", units.Plural(int64(moved), "partition"))
				return nil
			})
		},
	}
	s.serversOf(cmd)
	return cmd
}
