// fair-share on SimGrid: one shared link, one actor an application with the same phases, max-min sharing without corrections.
//
// Usage: simgrid_fair_share PHASES END. The file holds, in the machine's own byte order: the number of applications n (int64),
// n + 1 first positions (int64), n leads (double), then per phase its amount (double), then per phase its kind (uint8, 0 = work).
// Prints seconds in Engine::run and operations completed by END, then for each application the date its last phase ended.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

// SimGrid counts in whole bytes, so volumes and bandwidth are both given in units this much smaller.
static constexpr double GRAIN = 1e12;

struct Phases {
    std::vector<int64_t> first;
    std::vector<double> lead, amounts;
    std::vector<uint8_t> kinds;
};

struct Outcome {
    int64_t operations = 0;
    std::vector<double> ends;
};

template <typename T> static void read(std::ifstream& file, std::vector<T>& column, int64_t size)
{
    column.resize(size);
    file.read(reinterpret_cast<char*>(column.data()), size * sizeof(T));
}

static Phases read_phases(const char* path)
{
    std::ifstream file(path, std::ios::binary);
    Phases phases;
    int64_t size = 0;
    file.read(reinterpret_cast<char*>(&size), sizeof size);
    read(file, phases.first, size + 1);
    read(file, phases.lead, size);
    read(file, phases.amounts, phases.first.back());
    read(file, phases.kinds, phases.first.back());
    if (!file) {
        std::fprintf(stderr, "%s: too short\n", path);
        std::exit(2);
    }
    return phases;
}

// What is posted before the end of the window is carried to its completion, so that the simulation ends by itself; only what
// completes inside the window counts.
static void application(const Phases& phases, size_t index, double end, Outcome& outcome, sg4::Host* nodes, sg4::Host* storage)
{
    sg4::this_actor::sleep_for(phases.lead[index]);
    for (int64_t at = phases.first[index]; at < phases.first[index + 1] && sg4::Engine::get_clock() < end; at++) {
        if (phases.kinds[at] == 0) {
            sg4::this_actor::sleep_for(phases.amounts[at]);
            continue;
        }
        sg4::Comm::sendto(nodes, storage, static_cast<uint64_t>(phases.amounts[at] * GRAIN + 0.5));
        if (sg4::Engine::get_clock() <= end)
            outcome.operations++;
    }
    outcome.ends[index] = sg4::Engine::get_clock();
}

int main(int argc, char* argv[])
{
    sg4::Engine engine(&argc, argv);
    if (argc != 3) {
        std::fprintf(stderr, "usage: simgrid_fair_share PHASES END\n");
        return 2;
    }
    Phases phases = read_phases(argv[1]);
    double end    = std::atof(argv[2]);
    Outcome outcome;
    outcome.ends.resize(phases.lead.size());

    auto* zone    = sg4::create_full_zone("machine");
    auto* nodes   = zone->create_host("nodes", 1.0)->seal();
    auto* storage = zone->create_host("storage", 1.0)->seal();
    auto* link    = zone->create_link("link", GRAIN)->set_latency(0.0)->seal();
    zone->add_route(nodes->get_netpoint(), storage->get_netpoint(), nullptr, nullptr, {sg4::LinkInRoute(link)}, true);
    zone->seal();
    for (size_t i = 0; i < phases.lead.size(); i++)
        sg4::Actor::create("a" + std::to_string(i), nodes, application, std::cref(phases), i, end, std::ref(outcome), nodes,
                           storage);

    auto begun = std::chrono::steady_clock::now();
    engine.run();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    std::printf("%.9f %lld\n", seconds.count(), static_cast<long long>(outcome.operations));
    for (double date : outcome.ends)
        std::printf("%.17g\n", date);
    return 0;
}
