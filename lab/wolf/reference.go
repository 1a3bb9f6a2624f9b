package wolf

// All reference values are for a million pages, seed 2002, and were computed to the digits shown.
const (
	referencePages = 1_000_000
	referenceSeed  = 2002
	referenceSlots = 1_000_000 // of each crawler of Figure 10
)

// referenceEight holds optimal, proportional and uniform of Figure 8, by mixture and crawls per page.
var referenceEight = map[string]map[float64][3]float64{
	"mixed": {
		1.5: {.06394849, .10305813, .07886205}, 2: {.05307095, .09362376, .06648649}, 2.5: {.04570693, .08585145, .05975818},
		3: {.04017813, .07936315, .05302988}, 4: {.03223504, .06939129, .04442401}, 5: {.02699690, .06188250, .03839431},
	},
	"poisson": {
		1.5: {.07317719, .11008537, .08802882}, 2: {.06144806, .10074422, .07458899}, 2.5: {.05338572, .09320548, .06712047},
		3: {.04729712, .08690431, .05965195}, 4: {.03835553, .07679480, .05002905}, 5: {.03234734, .06888346, .04326423},
	},
	"pareto": {
		1.5: {.06443546, .09452617, .07281485}, 2: {.05496974, .08778868, .06230574}, 2.5: {.04830647, .08215760, .05633683},
		3: {.04311792, .07731799, .05036792}, 4: {.03539240, .06930663, .04256705}, 5: {.03012455, .06283419, .03702644},
	},
	"quasi": {
		1.5: {.00936903, .08648933, .04200345}, 2: {0, .06840559, .03041417}, 2.5: {0, .05280895, .02584892},
		3: {0, .04025231, .02128366}, 4: {0, .02522351, .01636472}, 5: {0, .01702119, .01327831},
	},
}

// referenceSevenLeft holds the six policies of Figure 7, by crawls per page.
var referenceSevenLeft = map[float64][6]float64{
	1.5: {.04056562, .06376065, .10281271, .07559705, .07844581, .05285176},
	2.5: {.02901648, .04559620, .08572441, .06171648, .05942113, .04075289},
	5:   {.01705946, .02691685, .06181117, .04462645, .03815992, .02729163},
}

// referenceSevenRight holds the same at 2.5 crawls per page, by theta.
var referenceSevenRight = map[float64][6]float64{
	0:    {.02901648, .04559620, .08572441, .06171648, .05942113, .04075289},
	0.25: {.06697170, .10591529, .13372829, .09047731, .11828738, .07981887},
	0.5:  {.09033591, .14332243, .15630843, .10365509, .15233625, .10146321},
	0.75: {.09972243, .15872323, .16298908, .10906925, .16485717, .10903410},
	1:    {.10103663, .16051211, .16449472, .11002351, .16444776, .11002351},
}

// referenceNine holds optimal, proportional, uniform, and uniform under the ordinary process, of Figure 9, by the
// shape a.
var referenceNine = map[float64][4]float64{
	1.05: {.03066746, .04726467, .03187114, .41581042}, 1.25: {.04461152, .07448524, .05011038, .19269560},
	1.5: {.04830647, .08215760, .05633683, .13952138}, 2: {.05063220, .08708764, .06084882, .10680650},
	3: {.05195360, .08996264, .06370764, .08807841}, 4: {.05241880, .09099801, .06477823, .08137386},
}

// referenceSorted holds four policies of Figure 7 at 2.5 crawls per page, with weights in the order of the rates.
var referenceSorted = map[string]float64{proportional: .1408, weightedProportional: .1929, uniform: .2148, weightedUniform: .0929}

// referenceTen holds, for Figure 10, the mean distance, the largest distance and the share within 20 slots, by the
// way to draw ideal times, from one draw each. If ideal times are spread evenly, the mean is the same in each draw
// and must agree in all digits. Otherwise the distance is that of a Brownian bridge from 0 (TestLargestDistance) and
// varies between draws. The tolerance is then about twice the scatter of the difference of two draws. It is scaled
// from five draws of 100,000 slots by the square root of the slots. It was chosen after one draw with a million
// slots; docs/notes/2026-11-lab.md has six independent draws.
var referenceTen = map[string][3]struct{ value, spread float64 }{
	ideals[0].name: {{40.2, 200}, {174, 230}, {.358, .3}},
	ideals[1].name: {{78.8, 60}, {264, 200}, {.281, .3}},
	ideals[2].name: {{.700, .0005}, {2.79, .6}, {1, 0}},
}
