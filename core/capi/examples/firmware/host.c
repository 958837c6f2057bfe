/* Where the program begins on a machine with an operating system. */
#include <stdio.h>

int firmware(void);
void print(const char *text);

void print(const char *text)
{
    fputs(text, stdout);
}

int main(void)
{
    return firmware();
}
