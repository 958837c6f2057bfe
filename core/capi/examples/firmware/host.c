/* The start of the program on a machine with an operating system. */
#include <stdio.h>

#include "program.h"

void print(const char *text)
{
    fputs(text, stdout);
}

int main(void)
{
    return firmware();
}
