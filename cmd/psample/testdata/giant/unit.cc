// Much debug information from few lines. Everything is local, so that it can be linked many times.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

__attribute__((used, noinline)) bool match(const std::string &s)
{
	return std::regex_search(s, std::regex("a+b(c|d)*"));
}

__attribute__((used, noinline)) int work(int n)
{
	std::map<std::string, std::vector<int>> m;
	std::unordered_map<int, std::string> u;
	std::ostringstream o;
	for (int i = 0; i < n; i++) {
		o << i;
		m[o.str()].push_back(i);
		u[i] = o.str();
	}
	std::mt19937 g(n);
	auto &v = m["1"];
	std::shuffle(v.begin(), v.end(), g);
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	std::function<int(int)> f = [&](int x) { return x + (int)u.size() + match(o.str()); };
	return f(n);
}
}
