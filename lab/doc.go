// Package lab is the bench on which policies are compared: experiments that run the live policies on
// simulated or recorded worlds, and put what was measured beside what was published.
//
// An Experiment declares its parameters as flags and fills a Result: rows, in the order and with the
// columns in which they are added; comparisons, each a published and a measured number with the
// difference that is allowed; claims, confirmed or denied; plots, as data. The Result prints as a
// table or as one JSON object. So a new experiment is one function:
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
// Experiments live in packages of their own below this one, one each, and are listed in the command.
// Each runs by itself and alone decides what it measures; randomness comes from its seed, so that the
// same parameters give the same rows. Repeat makes independent runs, and Estimate the mean of what they
// gave with Student's interval of confidence: a simulation is held to theory by that interval and not
// by a guessed tolerance.
package lab
