// ctorsxx: ctors in C++, with objects of static storage duration in two orders of initialisation.
#include <cstdio>
#include <string>

namespace places {
struct Announced {
	std::string name;
	explicit Announced(const char *n) : name(n)
	{
		std::printf("constructor %s\n", name.c_str());
		std::fflush(stdout);
	}
	~Announced()
	{
		std::printf("destructor %s\n", name.c_str());
		std::fflush(stdout);
	}
};

Announced first("first");
template <typename T> T made{"second"};
template Announced made<Announced>;
} // namespace places

int main()
{
	std::printf("main\n");
	std::fflush(stdout);
	return 7;
}
