// Package lab is the bench on which policies are compared: experiments that run the live policies on
// simulated or recorded worlds, and put what was measured beside what was published.
//
// An Experiment declares its parameters as flags and fills a Result. A Result has rows; comparisons of a published
// with a measured number, each with a tolerance; claims, confirmed or denied; and plots, as data. Rows and columns
// keep the order in which they are added. The Result prints as a table or as one JSON object. So a new experiment is
// one function:
//
//	func Coin() lab.Experiment {
//		return lab.Experiment{
//			Name:    "coin",
//			Summary: "Toss a coin",
//			Prepare: func(flags *pflag.FlagSet) lab.Runner {
//				tosses := flags.Int("tosses", 1000, "tosses of each run")
//				seed := flags.Uint64("seed", 1, "seed of all runs")
//				return func(ctx context.Context, out *lab.Result) error {
//					heads, err := lab.Repeat(ctx, out, 20, *seed, func(rng *rand.Rand) ([]float64, error) { … })
//					if err != nil {
//						return err
//					}
//					out.Row("tosses", *tosses, "heads", lab.Estimate(heads[0], 0.95))
//					return nil
//				}
//			},
//		}
//	}
//
// Each experiment has its own package below this one, and the command lists it. An experiment decides alone what it
// measures. Its randomness comes from its seed, so the same parameters give the same rows. Repeat makes independent
// runs. Estimate returns their mean with Student's confidence interval. A simulation is compared with theory by that
// interval, not by a guessed tolerance.
package lab
