/* Wine 8, which Debian 12 has, lacks this library of Windows; programs in Rust need one function of it for random numbers. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID octets, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE octets, SIZE_T length)
{
    return SystemFunction036(octets, (ULONG)length);
}
