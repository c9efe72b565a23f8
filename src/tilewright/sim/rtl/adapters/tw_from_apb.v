// The simple register bus on one side, a device with an APB port on the other.
module tw_from_apb (
    input wire clk, input wire reset,
    input wire reg_valid, input wire reg_write, input wire [31:0] reg_address, input wire [31:0] reg_wdata,
    output wire [31:0] reg_rdata, output wire reg_ready,
    output wire psel, output reg penable, output wire pwrite, output wire [31:0] paddr, output wire [31:0] pwdata,
    input wire [31:0] prdata, input wire pready
);
  assign psel = reg_valid;
  assign pwrite = reg_write;
  assign paddr = reg_address;
  assign pwdata = reg_wdata;
  assign reg_rdata = prdata;
  assign reg_ready = psel && penable && pready;
  always @(posedge clk) penable <= !reset && psel && !reg_ready;
endmodule
