// The witness: a CUPTI injection library (CUDA_INJECTION64_PATH) that records what a CUDA program left in device memory
// and gave back to the host, without touching its source. It writes JSON lines to OPTIMAS_WITNESS_DIR/witness-PID.jsonl.
//
//   OPTIMAS_WITNESS_DIR      folder for the record (required; nothing is done without it)
//   OPTIMAS_WITNESS_MODE     any of launch,readback,poison,time (comma-separated; default launch,readback,poison)
//   OPTIMAS_WITNESS_KERNELS  mangled names, one a line, of the kernels to digest after ("*" or empty: every kernel)
//   OPTIMAS_WITNESS_SEED     64-bit hexadecimal seed of the digests; two records compare only under one seed
//   OPTIMAS_WITNESS_POISON   byte (hexadecimal) that new allocations are filled with (default a5)
//   OPTIMAS_WITNESS_LAUNCHES digest at most this many launches of each kernel (default 0: all)
//   OPTIMAS_WITNESS_DUMP     LAUNCH:ALLOCATION[,…]: write these allocations' bytes to DIR/dump-LAUNCH-ALLOCATION.bin
//
// Every driver function is looked up in the libcuda that the program already loaded, so the library needs no stub to link.

#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "digest_ptx.h"  // written by the build: static const char digest_ptx[]

namespace {

struct Driver {
    CUresult (*CtxGetCurrent)(CUcontext *);
    CUresult (*CtxSynchronize)();
    CUresult (*MemsetD8)(CUdeviceptr, unsigned char, size_t);
    CUresult (*MemsetD8Async)(CUdeviceptr, unsigned char, size_t, CUstream);
    CUresult (*ModuleLoadData)(CUmodule *, const void *);
    CUresult (*ModuleGetFunction)(CUfunction *, CUmodule, const char *);
    CUresult (*MemAlloc)(CUdeviceptr *, size_t);
    CUresult (*MemcpyDtoH)(void *, CUdeviceptr, size_t);
    CUresult (*LaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                             void **, void **);
    CUresult (*StreamSynchronize)(CUstream);
    CUresult (*StreamIsCapturing)(CUstream, CUstreamCaptureStatus *);
    CUresult (*PointerGetAttribute)(void *, CUpointer_attribute, CUdeviceptr);
} cu;

struct Allocation {
    uint64_t ordinal;  // the how-manieth allocation of the program, from 0: the same in two runs of one program
    size_t bytes;
};

struct Digester {
    CUfunction function = nullptr;
    CUdeviceptr out = 0;
};

std::mutex mutex_;
thread_local bool inside = false;  // our own driver calls must not be witnessed
FILE *record = nullptr;
std::string folder;
bool want_launch, want_readback, want_poison, want_time;
unsigned char poison = 0xa5;
uint64_t seed = 0x0123456789abcdefull;
uint64_t launch_limit = 0;
std::set<std::string> kernels;
std::set<std::pair<uint64_t, uint64_t>> dumps;
std::map<std::string, uint64_t> digested;
std::map<std::string, uint64_t> uncovered;
std::map<CUdeviceptr, Allocation> live;
std::map<CUcontext, Digester> digesters;
uint64_t allocations = 0, launches = 0, readbacks = 0, uploads = 0, kernel_times = 0, failed_calls = 0;

struct Inside {
    Inside() { inside = true; }
    ~Inside() { inside = false; }
};

__attribute__((format(printf, 1, 2))) void line(const char *format, ...) {
    if (!record) return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(record, format, arguments);
    va_end(arguments);
    fputc('\n', record);
    fflush(record);
}

std::string quoted(const char *text) {
    std::string out = "\"";
    for (const unsigned char *p = reinterpret_cast<const unsigned char *>(text ? text : ""); *p; ++p) {
        if (*p == '"' || *p == '\\') {
            out += '\\';
            out += static_cast<char>(*p);
        } else if (*p < 0x20 || *p >= 0x7f) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", *p);
            out += escape;
        } else {
            out += static_cast<char>(*p);
        }
    }
    return out + "\"";
}

uint64_t mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    x ^= x >> 29;
    x *= 0xa0761d6478bd642full;
    return x ^ (x >> 32);
}

struct HostDigest {
    uint64_t a = 0, b = 0, nonzero = 0, nans = 0;
};

HostDigest host_digest(const void *data, size_t bytes) {
    HostDigest d;
    const unsigned char *p = static_cast<const unsigned char *>(data);
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t w;
        memcpy(&w, p + i, 8);
        const uint64_t m = mix(w ^ ((i + 1) * 0x9e3779b97f4a7c15ull + seed));
        d.a += m;
        d.b = (d.b << 7 | d.b >> 57) ^ m;
        const uint32_t lo = static_cast<uint32_t>(w), hi = static_cast<uint32_t>(w >> 32);
        d.nonzero += (lo != 0) + (hi != 0);
        d.nans += ((lo & 0x7fffffffu) > 0x7f800000u) + ((hi & 0x7fffffffu) > 0x7f800000u);
    }
    uint64_t tail = bytes;
    for (; i < bytes; ++i) {
        tail = mix(tail ^ p[i] ^ (i * 0x9e3779b97f4a7c15ull) ^ seed);
        d.nonzero += p[i] != 0;
    }
    d.a += mix(tail);
    d.b ^= mix(tail + 1);
    return d;
}

Digester *digester() {
    CUcontext context = nullptr;
    if (cu.CtxGetCurrent(&context) != CUDA_SUCCESS || !context) return nullptr;
    Digester &d = digesters[context];
    if (!d.function) {
        CUmodule module;
        if (cu.ModuleLoadData(&module, digest_ptx) != CUDA_SUCCESS) return nullptr;
        if (cu.ModuleGetFunction(&d.function, module, "optimas_digest") != CUDA_SUCCESS) return nullptr;
        if (cu.MemAlloc(&d.out, 32) != CUDA_SUCCESS) return nullptr;
    }
    return &d;
}

bool device_digest(CUdeviceptr data, size_t bytes, uint64_t out[4]) {
    Digester *d = digester();
    if (!d) return false;
    if (cu.MemsetD8(d->out, 0, 32) != CUDA_SUCCESS) return false;
    CUdeviceptr pointer = data;
    unsigned long long length = bytes, s = seed;
    void *arguments[] = {&pointer, &length, &s, &d->out};
    size_t blocks = (bytes / 16 + 255) / 256;
    if (blocks < 1) blocks = 1;
    if (blocks > 2112) blocks = 2112;
    if (cu.LaunchKernel(d->function, static_cast<unsigned>(blocks), 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr) !=
        CUDA_SUCCESS)
        return false;
    return cu.MemcpyDtoH(out, d->out, 32) == CUDA_SUCCESS;
}

void dump(uint64_t launch, const Allocation &allocation, CUdeviceptr pointer) {
    std::vector<char> host(allocation.bytes);
    if (cu.MemcpyDtoH(host.data(), pointer, allocation.bytes) != CUDA_SUCCESS) return;
    char name[64];
    snprintf(name, sizeof name, "/dump-%" PRIu64 "-%" PRIu64 ".bin", launch, allocation.ordinal);
    if (FILE *f = fopen((folder + name).c_str(), "wb")) {
        fwrite(host.data(), 1, host.size(), f);
        fclose(f);
    }
}

void on_allocation(CUdeviceptr pointer, size_t bytes, CUstream stream, bool async) {
    live[pointer] = {allocations, bytes};
    line("{\"event\":\"allocation\",\"allocation\":%" PRIu64 ",\"bytes\":%zu}", allocations, bytes);
    ++allocations;
    if (!want_poison) return;
    const CUresult r = async ? cu.MemsetD8Async(pointer, poison, bytes, stream) : cu.MemsetD8(pointer, poison, bytes);
    if (r != CUDA_SUCCESS) line("{\"event\":\"error\",\"what\":\"a new allocation could not be filled\",\"code\":%d}", r);
}

void on_launch(const char *symbol, const unsigned grid[3], const unsigned block[3], CUstream stream) {
    const uint64_t number = launches++;
    const std::string name = symbol ? symbol : "";
    if (!kernels.empty() && !kernels.count(name)) return;
    if (launch_limit && digested[name] >= launch_limit) return;
    ++digested[name];
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    if (cu.StreamIsCapturing && cu.StreamIsCapturing(stream, &capturing) == CUDA_SUCCESS &&
        capturing != CU_STREAM_CAPTURE_STATUS_NONE) {
        ++uncovered["launch captured into a graph"];
        return;
    }
    const CUresult finished = cu.CtxSynchronize();
    std::string digests;
    uint64_t covered = 0;
    const auto began = std::chrono::steady_clock::now();
    for (const auto &entry : live) {
        uint64_t d[4];
        if (!device_digest(entry.first, entry.second.bytes, d)) {
            line("{\"event\":\"error\",\"what\":\"an allocation could not be digested\",\"launch\":%" PRIu64 "}", number);
            continue;
        }
        covered += entry.second.bytes;
        char text[256];
        snprintf(text, sizeof text,
                 "%s{\"allocation\":%" PRIu64 ",\"bytes\":%zu,\"digest\":\"%016" PRIx64 "%016" PRIx64
                 "\",\"nonzero\":%" PRIu64 ",\"nans\":%" PRIu64 "}",
                 digests.empty() ? "" : ",", entry.second.ordinal, entry.second.bytes, d[0], d[1], d[2], d[3]);
        digests += text;
        if (dumps.count({number, entry.second.ordinal})) dump(number, entry.second, entry.first);
    }
    const double microseconds =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count();
    line("{\"event\":\"launch\",\"launch\":%" PRIu64 ",\"kernel\":%s,\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],"
         "\"status\":%d,\"bytes\":%" PRIu64 ",\"digest_us\":%.1f,\"memory\":[%s]}",
         number, quoted(symbol).c_str(), grid[0], grid[1], grid[2], block[0], block[1], block[2], finished, covered,
         microseconds, digests.c_str());
}

// A copy between host and device: "readback" to the host, "upload" from it.
void on_copy(const char *kind, uint64_t &number, const void *host, size_t bytes) {
    const HostDigest d = host_digest(host, bytes);
    line("{\"event\":\"%s\",\"number\":%" PRIu64 ",\"bytes\":%zu,\"digest\":\"%016" PRIx64 "%016" PRIx64
         "\",\"nonzero\":%" PRIu64 ",\"nans\":%" PRIu64 "}",
         kind, number++, bytes, d.a, d.b, d.nonzero, d.nans);
}

bool device_pointer(CUdeviceptr pointer) {
    unsigned kind = 0;
    return cu.PointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) == CUDA_SUCCESS &&
           kind == CU_MEMORYTYPE_DEVICE;
}

void CUPTIAPI on_callback(void *, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data) {
    if (inside || domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
    const auto *info = static_cast<const CUpti_CallbackData *>(data);
    // Frees are seen on entry: afterwards the address may already belong to somebody else.
    const bool entry = info->callbackSite == CUPTI_API_ENTER;
    std::lock_guard<std::mutex> lock(mutex_);
    if (!record) return;
    Inside guard;
    if (entry) {
        switch (id) {
            case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
                live.erase(static_cast<const cuMemFree_v2_params *>(info->functionParams)->dptr);
                break;
            case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
                live.erase(static_cast<const cuMemFreeAsync_params *>(info->functionParams)->dptr);
                break;
            case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
                live.erase(static_cast<const cuMemFreeAsync_ptsz_params *>(info->functionParams)->dptr);
                break;
            default: break;
        }
        return;
    }
    const CUresult result = *static_cast<const CUresult *>(info->functionReturnValue);
    if (result != CUDA_SUCCESS) {
        if (result != CUDA_ERROR_NOT_READY) {
            ++failed_calls;
            line("{\"event\":\"failed\",\"call\":%s,\"code\":%d,\"kernel\":%s}", quoted(info->functionName).c_str(), result,
                 quoted(info->symbolName).c_str());
        }
        return;
    }
    switch (id) {
        case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2: {
            const auto *p = static_cast<const cuMemAlloc_v2_params *>(info->functionParams);
            on_allocation(*p->dptr, p->bytesize, nullptr, false);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2: {
            const auto *p = static_cast<const cuMemAllocPitch_v2_params *>(info->functionParams);
            on_allocation(*p->dptr, *p->pPitch * p->Height, nullptr, false);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync: {
            const auto *p = static_cast<const cuMemAllocAsync_params *>(info->functionParams);
            on_allocation(*p->dptr, p->bytesize, p->hStream, true);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz: {
            const auto *p = static_cast<const cuMemAllocAsync_ptsz_params *>(info->functionParams);
            on_allocation(*p->dptr, p->bytesize, p->hStream, true);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
            const auto *p = static_cast<const cuLaunchKernel_params *>(info->functionParams);
            const unsigned grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ};
            const unsigned block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
            if (want_launch) on_launch(info->symbolName, grid, block, p->hStream);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
            const CUlaunchConfig *c = static_cast<const cuLaunchKernelEx_params *>(info->functionParams)->config;
            const unsigned grid[3] = {c->gridDimX, c->gridDimY, c->gridDimZ};
            const unsigned block[3] = {c->blockDimX, c->blockDimY, c->blockDimZ};
            if (want_launch) on_launch(info->symbolName, grid, block, c->hStream);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel: {
            const auto *p = static_cast<const cuLaunchCooperativeKernel_params *>(info->functionParams);
            const unsigned grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ};
            const unsigned block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
            if (want_launch) on_launch(info->symbolName, grid, block, p->hStream);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds: {
            const auto *p = static_cast<const cuMemcpyDtoH_v2_params *>(info->functionParams);
            if (want_readback) on_copy("readback", readbacks, p->dstHost, p->ByteCount);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz: {
            const auto *p = static_cast<const cuMemcpyDtoHAsync_v2_params *>(info->functionParams);
            if (want_readback && cu.StreamSynchronize(p->hStream) == CUDA_SUCCESS) on_copy("readback", readbacks, p->dstHost, p->ByteCount);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds: {
            const auto *p = static_cast<const cuMemcpyHtoD_v2_params *>(info->functionParams);
            if (want_readback) on_copy("upload", uploads, p->srcHost, p->ByteCount);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz: {
            const auto *p = static_cast<const cuMemcpyHtoDAsync_v2_params *>(info->functionParams);
            if (want_readback) on_copy("upload", uploads, p->srcHost, p->ByteCount);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpy:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpy_ptds: {
            const auto *p = static_cast<const cuMemcpy_params *>(info->functionParams);
            if (want_readback && device_pointer(p->src) && !device_pointer(p->dst))
                on_copy("readback", readbacks, reinterpret_cast<const void *>(p->dst), p->ByteCount);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz: {
            const auto *p = static_cast<const cuMemcpyAsync_params *>(info->functionParams);
            if (want_readback && device_pointer(p->src) && !device_pointer(p->dst) &&
                cu.StreamSynchronize(p->hStream) == CUDA_SUCCESS)
                on_copy("readback", readbacks, reinterpret_cast<const void *>(p->dst), p->ByteCount);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged: ++uncovered["managed memory"]; break;
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz: ++uncovered["explicit memory pool"]; break;
        case CUPTI_DRIVER_TRACE_CBID_cuArrayCreate_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuArray3DCreate_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayCreate: ++uncovered["array (texture) memory"]; break;
        case CUPTI_DRIVER_TRACE_CBID_cuMemCreate: ++uncovered["virtual memory management"]; break;
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2: ++uncovered["pinned or mapped host memory"]; break;
        case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
        case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz: ++uncovered["graph launch"]; break;
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DUnaligned_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DAsync_v2: ++uncovered["2D or 3D copy"]; break;
        default: break;
    }
}

void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *records) {
    *size = 1 << 20;
    *buffer = static_cast<uint8_t *>(aligned_alloc(64, *size));
    *records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid) {
    std::lock_guard<std::mutex> lock(mutex_);
    CUpti_Activity *activity = nullptr;
    while (record && cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) {
        if (activity->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && activity->kind != CUPTI_ACTIVITY_KIND_KERNEL) continue;
        // Each newer record layout only appends, so the fields used here are where the oldest layout had them.
        const auto *k = reinterpret_cast<const CUpti_ActivityKernel9 *>(activity);
        ++kernel_times;
        line("{\"event\":\"time\",\"kernel\":%s,\"start_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64
             ",\"registers\":%u,\"static_shared\":%d,\"dynamic_shared\":%d,\"local_per_thread\":%u,"
             "\"grid\":[%d,%d,%d],\"block\":[%d,%d,%d],\"stream\":%u,\"correlation\":%u}",
             quoted(k->name).c_str(), static_cast<uint64_t>(k->start), static_cast<uint64_t>(k->end - k->start),
             k->registersPerThread, k->staticSharedMemory, k->dynamicSharedMemory, k->localMemoryPerThread, k->gridX,
             k->gridY, k->gridZ, k->blockX, k->blockY, k->blockZ, k->streamId, k->correlationId);
    }
    free(buffer);
}

void finish() {
    if (!record) return;
    if (want_time) cuptiActivityFlushAll(1);
    std::lock_guard<std::mutex> lock(mutex_);
    std::string missing;
    for (const auto &entry : uncovered) {
        missing += (missing.empty() ? "" : ",") + quoted(entry.first.c_str()) + ":" + std::to_string(entry.second);
    }
    line("{\"event\":\"end\",\"launches\":%" PRIu64 ",\"allocations\":%" PRIu64 ",\"readbacks\":%" PRIu64
         ",\"uploads\":%" PRIu64 ",\"kernel_times\":%" PRIu64 ",\"failed_calls\":%" PRIu64 ",\"uncovered\":{%s}}",
         launches, allocations, readbacks, uploads, kernel_times, failed_calls, missing.c_str());
    fclose(record);
    record = nullptr;
}

template <class F>
bool look_up(void *library, F &function, const char *name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
}

bool look_up_driver() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) return false;
    look_up(library, cu.StreamIsCapturing, "cuStreamIsCapturing");
    return look_up(library, cu.CtxGetCurrent, "cuCtxGetCurrent") && look_up(library, cu.CtxSynchronize, "cuCtxSynchronize") &&
           look_up(library, cu.MemsetD8, "cuMemsetD8_v2") && look_up(library, cu.MemsetD8Async, "cuMemsetD8Async") &&
           look_up(library, cu.ModuleLoadData, "cuModuleLoadData") &&
           look_up(library, cu.ModuleGetFunction, "cuModuleGetFunction") && look_up(library, cu.MemAlloc, "cuMemAlloc_v2") &&
           look_up(library, cu.MemcpyDtoH, "cuMemcpyDtoH_v2") && look_up(library, cu.LaunchKernel, "cuLaunchKernel") &&
           look_up(library, cu.StreamSynchronize, "cuStreamSynchronize") &&
           look_up(library, cu.PointerGetAttribute, "cuPointerGetAttribute");
}

std::string setting(const char *name, const char *fallback) {
    const char *value = getenv(name);
    return value && *value ? value : fallback;
}

void read_settings() {
    const std::string mode = "," + setting("OPTIMAS_WITNESS_MODE", "launch,readback,poison") + ",";
    want_launch = mode.find(",launch,") != std::string::npos;
    want_readback = mode.find(",readback,") != std::string::npos;
    want_poison = mode.find(",poison,") != std::string::npos;
    want_time = mode.find(",time,") != std::string::npos;
    seed = strtoull(setting("OPTIMAS_WITNESS_SEED", "0123456789abcdef").c_str(), nullptr, 16);
    poison = static_cast<unsigned char>(strtoul(setting("OPTIMAS_WITNESS_POISON", "a5").c_str(), nullptr, 16));
    launch_limit = strtoull(setting("OPTIMAS_WITNESS_LAUNCHES", "0").c_str(), nullptr, 10);
    const std::string names = setting("OPTIMAS_WITNESS_KERNELS", "*");
    for (size_t start = 0; names != "*" && start <= names.size();) {
        const size_t end = names.find('\n', start);
        const std::string name = names.substr(start, end - start);
        if (!name.empty()) kernels.insert(name);
        if (end == std::string::npos) break;
        start = end + 1;
    }
    const std::string wanted = setting("OPTIMAS_WITNESS_DUMP", "");
    for (const char *p = wanted.c_str(); *p;) {
        char *end = nullptr;
        const uint64_t launch = strtoull(p, &end, 10);
        if (*end != ':') break;
        const uint64_t allocation = strtoull(end + 1, &end, 10);
        dumps.insert({launch, allocation});
        p = *end == ',' ? end + 1 : end;
        if (*end && *end != ',') break;
    }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
    folder = setting("OPTIMAS_WITNESS_DIR", "");
    if (folder.empty()) return 1;
    record = fopen((folder + "/witness-" + std::to_string(getpid()) + ".jsonl").c_str(), "w");
    if (!record) return 0;
    read_settings();
    bool good = look_up_driver();
    const char *why = good ? "" : "libcuda has not every function that is needed";
    CUpti_SubscriberHandle subscriber;
    if (good && (want_launch || want_readback || want_poison)) {
        good = cuptiSubscribe(&subscriber, on_callback, nullptr) == CUPTI_SUCCESS &&
               cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS;
        if (!good) why = "CUPTI callbacks could not be enabled";
    }
    if (good && want_time) {
        good = cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed) == CUPTI_SUCCESS &&
               cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
        if (!good) why = "CUPTI activity records could not be enabled";
    }
    line("{\"event\":\"start\",\"witness\":1,\"pid\":%d,\"loaded\":%s,\"why\":\"%s\",\"launch\":%s,\"readback\":%s,"
         "\"poison\":%s,\"time\":%s}",
         getpid(), good ? "true" : "false", why, want_launch ? "true" : "false", want_readback ? "true" : "false",
         want_poison ? "true" : "false", want_time ? "true" : "false");
    atexit(finish);
    return good ? 1 : 0;
}
