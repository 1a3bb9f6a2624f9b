package castillo

const referenceSource = "an earlier study of the model"

// reference is a result of the earlier study, with w = 15 s and k = 1.
type reference struct {
	order       string
	connections int
	shares      [8]float64 // at referencePercents; 0 if unknown
	mean        float64
}

var referencePercents = [8]int{1, 5, 10, 20, 30, 50, 70, 90}

// references returns the study's results on the web of that name.
func references(web string) []reference {
	switch web {
	case "web-5k":
		return onWeb5k()
	case "web-big":
		return onWebBig()
	case "real-split":
		return onRealSplit()
	}
	return nil
}

// onWebBig leaves out optimal, opic and cash-sum: the study gives only their means, without the number of fetchers.
func onWebBig() []reference {
	return []reference{
		{"length", 1, [8]float64{.103, .169, .214, 0, .369, 0, 0, 0}, .564},
		{"depth", 1, [8]float64{.023, .135, .226, 0, .510, 0, 0, 0}, .631},
		{"length", 64, [8]float64{.059, .201, .282, 0, .476, .659, 0, 0}, .629},
		{"depth", 64, [8]float64{.023, .113, .183, 0, .414, .623, 0, 0}, .590},
	}
}

func onRealSplit() []reference {
	return []reference{
		{"optimal", 1, [8]float64{.442, .606, .676, .750, .796, .858, .907, .953}, .859},
		{"depth", 1, [8]float64{.137, .225, .277, .534, .600, .812, .868, .923}, .732},
		{"length", 1, [8]float64{.015, .081, .139, .216, .329, .814, .866, .921}, .637},
		{"batch:1.4%", 1, [8]float64{.233, .332, .373, .444, .686, .825, .895, .950}, .762},
		{"partial:1.4%", 1, [8]float64{.237, .336, .378, .440, .478, .846, .898, .953}, .743},
		{"batch:2.9%", 1, [8]float64{.233, .406, .503, .643, .760, .823, .895, .950}, .800},
		{"partial:2.9%", 1, [8]float64{.237, .335, .400, .588, .720, .847, .898, .953}, .787},
		{"opic", 1, [8]float64{.237, .349, .490, .648, .725, .849, .898, .953}, .805},
		{"cash-sum", 1, [8]float64{.107, .240, .469, .644, .749, .851, .898, .953}, .796},
		{"optimal", 64, [8]float64{.206, .361, .465, .618, .712, .854, .907, .953}, .800},
		{"depth", 64, [8]float64{.177, .299, .387, .528, .663, .818, .869, .925}, .747},
		{"length", 64, [8]float64{.177, .299, .386, .531, .669, .819, .869, .925}, .749},
		{"opic", 64, [8]float64{.184, .325, .453, .583, .693, .847, .898, .953}, .782},
		{"cash-sum", 64, [8]float64{.184, .325, .453, .583, .693, .847, .898, .953}, .782},
	}
}

func onWeb5k() []reference {
	return []reference{
		{"optimal", 1, [8]float64{.268, .455, .542, .641, .712, .820, .905, .973}, .783},
		{"depth", 1, [8]float64{.098, .260, .380, .533, .606, .739, .858, .959}, .704},
		{"length", 1, [8]float64{.071, .123, .163, .231, .285, .427, .584, .773}, .448},
		{"batch:1.4%", 1, [8]float64{.098, .406, .511, .610, .685, .801, .895, .972}, .761},
		{"partial:1.4%", 1, [8]float64{.136, .410, .511, .610, .685, .801, .895, .972}, .762},
		{"batch:2.9%", 1, [8]float64{.098, .376, .507, .616, .688, .802, .895, .971}, .760},
		{"partial:2.9%", 1, [8]float64{.136, .401, .513, .615, .688, .802, .895, .971}, .763},
		{"in-links", 1, [8]float64{.133, .320, .362, .453, .521, .640, .763, .887}, .634},
		{"opic", 1, [8]float64{.138, .379, .482, .601, .679, .800, .895, .971}, .757},
		{"cash-sum", 1, [8]float64{.168, .269, .343, .459, .571, .743, .870, .967}, .695},
		{"optimal", 64, [8]float64{.207, .425, .510, .603, .673, .792, .890, .968}, .759},
		{"depth", 64, [8]float64{.099, .263, .367, .482, .579, .728, .843, .954}, .687},
		{"length", 64, [8]float64{.089, .236, .303, .437, .601, .739, .857, .956}, .686},
		{"opic", 64, [8]float64{.137, .347, .460, .560, .642, .773, .878, .964}, .734},
		{"cash-sum", 64, [8]float64{.147, .357, .459, .560, .637, .772, .877, .964}, .733},
		{"optimal", 256, [8]float64{.145, .338, .462, .590, .672, .792, .890, .968}, .748},
		{"depth", 256, [8]float64{.098, .248, .346, .475, .575, .727, .844, .954}, .683},
		{"length", 256, [8]float64{.105, .264, .381, .509, .596, .731, .851, .956}, .696},
		{"opic", 256, [8]float64{.129, .273, .404, .553, .639, .774, .878, .965}, .726},
		{"cash-sum", 256, [8]float64{.128, .274, .402, .553, .639, .773, .878, .965}, .726},
	}
}

// speedUp is a row of the paper's Table I.
type speedUp struct {
	bandwidth   float64 // read as bytes/s
	one         float64 // r = 1; read as the time divided by that with the largest bandwidth
	many, crowd float64 // r = 64 and 256
}

func tableI() []speedUp {
	return []speedUp{
		{2e7, 1.0, 54.6, 220.1}, {2e6, 1.0, 54.3, 204.3}, {2e5, 1.0, 43.0, 114.1},
		{2e4, 1.0, 27.0, 83.3}, {2e3, 1.5, 3.8, 16.0}, {200, 6.3, 1.6, 3.0},
	}
}
